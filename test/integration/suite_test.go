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
	// homeID is the consumer ID of home, in the names of remote namespaces.
	homeID = "home"
	// otherID is the consumer ID of the second consumer.
	otherID = "other"
	// patience is how long a spec waits for what takes a second on an idle machine. No spec depends on what
	// happens within it: the state that it waits for stays until the spec goes on.
	patience = 90 * time.Second
	// farewell is the part of go test's time limit that the suite keeps for naming the slow spec and ending
	// the control planes.
	farewell = 90 * time.Second
	// calm is how long a spec waits for what must not happen. The controllers write at most a second after
	// the change.
	calm = 2 * time.Second
)

var (
	// ctx ends with the suite.
	ctx context.Context
	// home is the consumer of most specs. eu and us are the providers. other is a second consumer, which does
	// not serve the admission policy, as before Kubernetes 1.36.
	home, other, eu, us *controlPlane
	// running is the manager of home.
	running *managerRun
	// output has everything that the managers logged.
	output = &log{}

	providers = flag.String("providers", "", "the release of Kubernetes that the providers run, such as v1.34.5, which make kube KUBE_VERSION has built; by default that of bin/kube")

	keep = flag.Bool("keep-clusters", false, "leave the control planes running, for looking into them")
)

// slow is the label of specs that go test -short leaves out:
//   - specs about shards, clouds, outages, restores, hangs, killed managers, lost answers, and addresses that another
//     cluster takes over
//   - specs that wait: for a grace period, for the end of a Lease, token or timeout, for the next try after a refusal, or
//     for seconds in which nothing may happen
//   - specs that start their own control planes or managers
//   - further variants of a quick spec
var slow = Label("slow")

// long decorates specs that take as long as something lives in real time. They run only if they are asked for:
// go test ./test/integration -ginkgo.label-filter=long
var long = Label("long")

func TestMain(m *testing.M) {
	flag.Parse()
	clusters.RequireBinaries()
	os.Exit(m.Run())
}

func TestIntegration(t *testing.T) {
	// At the highest verbosity, so that the search for credentials in the log proves something.
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
	if suite.LabelFilter == "" {
		suite.LabelFilter = "!long"
		if testing.Short() {
			suite.LabelFilter += " && !slow"
		}
	}
	if deadline, ok := t.Deadline(); ok {
		suite.Timeout = time.Until(deadline) - farewell
	}
	RunSpecs(t, "Integration", suite, reporter)
}

// go test runs the suite in one process. If ginkgo splits it, each process has its own control planes. All
// share one turn, and the first process waits for it.
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
		return // The control planes did not start.
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

// saveLog writes the managers' log to a file that outlives the run.
func saveLog() string {
	file := filepath.Join(directory(), "manager.log")
	Expect(os.WriteFile(file, []byte(output.text()), 0o600)).To(Succeed())
	return file
}
