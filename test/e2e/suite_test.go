//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/e2e/node"
	"github.com/spillway-io/spillway/test/e2e/testcluster"
)

// patience is how long a spec waits for what takes a second or two on an idle machine.
const patience = 60 * time.Second

// short labels the specs for -short: a namespace and a pod with its dependencies, from the binding to the
// end.
var short = Label("short")

// long labels specs that take too long for make e2e. make test-long runs them.
var long = Label("long")

// crashes labels specs that repeat one life for each write at which the manager can die. make test-long runs them.
var crashes = Label("crashes")

// growing labels the specs of a provider that Karpenter grows. make test-long builds it, and runs them.
var growing = Label("karpenter")

var (
	// ctx ends with the suite.
	ctx context.Context
	// factory starts the clusters.
	factory testcluster.Factory
	// consumer, eu and dc are the clusters. dc is nil if no node can run containers.
	consumer, eu, dc *testCluster
	// withoutReal says why there is no dc.
	withoutReal error

	consumerRelease = flag.String("consumer", "", "the release of Kubernetes before 1.36 that the consumer runs, such as v1.34.5, which make kube KUBE_VERSION has built; by default that of bin/kube")

	managerPath = flag.String("manager", "", "`path` of the manager to test (default bin/manager)")

	faults = flag.String("recipe", "", "for specs labelled crashes: play only this `recipe`, as a divergence says")

	pause = flag.Bool("pause", false, "when a spec has failed, wait for the return key before anything is cleaned up")
)

func TestMain(m *testing.M) {
	node.Main()
	flag.Parse()
	clusters.RequireBinaries() // With kind's clusters, only kubectl is used.
	clusters.AwaitTurn()
	os.Exit(m.Run())
}

func TestEndToEnd(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	suite, reporter := GinkgoConfiguration()
	switch {
	case suite.LabelFilter != "":
	case testing.Short():
		suite.LabelFilter = "short"
	default:
		suite.LabelFilter = "!long && !crashes && !karpenter"
	}
	RunSpecs(t, "End to end", suite, reporter)
}

var _ = BeforeSuite(func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)

	var err error
	factory, err = testcluster.For(os.Getenv("E2E_CLUSTERS"), directory())
	Expect(err).NotTo(HaveOccurred())
	withoutReal = factory.RealNodes()
	bringUp()
	if *consumerRelease == "" {
		consumer.install("config/default")
	} else {
		Expect(os.Getenv("E2E_CLUSTERS")).NotTo(Equal("kind"), "-consumer is for local clusters")
		consumer.installWebhook()
	}
	for _, provider := range providers() {
		provider.install("config/provider")
	}
	startManager()
	DeferCleanup(stopManager)
	bindAll()
})

// bringUp starts all clusters at once.
func bringUp() {
	wanted := map[**testCluster]testcluster.Options{
		&consumer: {Name: "consumer", Nodes: 1, NodeGrace: 16 * time.Second, Programs: programs(*consumerRelease)},
		&eu:       {Name: "eu", Nodes: 2},
		&dc:       {Name: "dc", Nodes: 1, Real: true, Storage: !testing.Short()},
	}
	if withoutReal != nil {
		delete(wanted, &dc)
		warn("THERE IS NO REAL NODE, and specs that need one are skipped: " + withoutReal.Error())
	}
	var group sync.WaitGroup
	for target, options := range wanted {
		options.Log = GinkgoWriter
		group.Go(func() {
			defer GinkgoRecover()
			*target = newTestCluster(options)
		})
	}
	group.Wait()
}

// programs returns the folder of a release's programs, or "" for the default release.
func programs(release string) string {
	if release == "" {
		return ""
	}
	return filepath.Join(root(), "bin", "kube-"+release)
}

// warn prints a text that nobody can miss, even without -v.
func warn(text string) {
	const line = "*******************************************************************************"
	fmt.Fprintf(os.Stderr, "%s\n* %s\n%s\n", line, text, line)
}

// directory returns the folder of all files that the suite writes.
func directory() string { return filepath.Join(root(), "bin", "e2e") }

func root() string {
	GinkgoHelper()
	directory, err := clusters.Root()
	Expect(err).NotTo(HaveOccurred())
	return directory
}
