package integration

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/clusters"
)

const (
	// homeID names the consumer in the names of remote namespaces.
	homeID = "home"
	// otherID names the second consumer.
	otherID = "other"
	// patience is how long a spec waits for what takes a second on a machine
	// that does nothing else. No spec passes or fails by what happens within
	// it: what it waits for stays until it goes on.
	patience = 90 * time.Second
	// farewell is what the suite keeps of the time that go test gives it, to
	// say which spec took so long, and to end the control planes.
	farewell = 90 * time.Second
	// calm is how long what must not happen is waited for. The controllers
	// write at most a second after they have seen what they write about.
	calm = 2 * time.Second
)

var (
	// ctx ends with the suite.
	ctx context.Context
	// home is the consumer that most specs are about; eu and us are the
	// providers. other is a second consumer, which does not serve the
	// admission policy, as before Kubernetes 1.36.
	home, other, eu, us *controlPlane
	// running is the manager of home.
	running *managerRun
	// output is all that managers have logged.
	output = &log{}

	providers = flag.String("providers", "", "the release of Kubernetes that the providers run, such as v1.34.5, which make kube KUBE_VERSION has built; by default that of bin/kube")

	keep = flag.Bool("keep-clusters", false, "leave the control planes running, for looking into them")
)

// slow is the label of what go test -short leaves out: specs that are about shards,
// clouds, outages, restores, hangs, managers that are killed, addresses that others take
// over, and requests that are not answered; that wait for a grace period, for a Lease,
// token or time-out to end, for the next try of what was refused, or for seconds in
// which nothing may happen; that start control planes or managers of their own; and the
// further variants of what a quick spec shows already.
var slow = Label("slow")

func TestMain(m *testing.M) {
	flag.Parse()
	clusters.RequireBinaries()
	os.Exit(m.Run())
}

func TestIntegration(t *testing.T) {
	// Everything that the code would log at most, so that the search for
	// credentials in it means something.
	logger := funcr.New(output.write, funcr.Options{LogTimestamp: true, Verbosity: 4})
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)

	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(calm)
	SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	suite, reporter := GinkgoConfiguration()
	if testing.Short() && suite.LabelFilter == "" {
		suite.LabelFilter = "!slow"
	}
	if deadline, ok := t.Deadline(); ok {
		suite.Timeout = time.Until(deadline) - farewell
	}
	RunSpecs(t, "Integration", suite, reporter)
}

// go test runs the suite in one process. If ginkgo splits it between several, each has
// control planes of its own. The turn is that of all, and the first of them awaits it.
var _ = SynchronizedBeforeSuite(clusters.AwaitTurn, func() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)

	bringUp()
	home.install("config/default")
	other.install("config/default", policyKinds...)
	eu.install("config/provider")
	us.install("config/provider")
	eu.limit("tolerationKeys", offeredKey)
	eu.limit("metadataKeys", "example.com/")

	running = startManager(home, manager.Options{ConsumerID: homeID})
	DeferCleanup(func() { running.stop() })
	ofOther := startManager(other, manager.Options{ConsumerID: otherID})
	DeferCleanup(ofOther.stop)
})

var _ = AfterSuite(func() {
	if ctx == nil {
		return // The control planes did not come up.
	}
	if CurrentSpecReport().Failed() {
		saveLog()
	}
	By("looking for anything that is left")
	nothingIsLeft()
	By("looking for credentials where they do not belong")
	noCredentialIsShown(credentials.all()...)
})

var _ = AfterEach(func() {
	if CurrentSpecReport().Failed() {
		AddReportEntry("log of the managers", saveLog())
	}
})

// saveLog writes what the managers have logged to a file that outlives the run.
func saveLog() string {
	file := filepath.Join(directory(), "manager.log")
	Expect(os.WriteFile(file, []byte(output.text()), 0o600)).To(Succeed())
	return file
}
