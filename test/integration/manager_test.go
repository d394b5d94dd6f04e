package integration

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// managerRun is a manager that runs in this process.
type managerRun struct {
	cancel context.CancelFunc
	done   chan error
}

// startManager runs a manager for the consumer with the shipped ServiceAccount. By default it probes often,
// so that it soon notices what a spec does. It is also lenient, so that a slow machine loses no connection
// and no Lease.
func startManager(consumer *controlPlane, options manager.Options) *managerRun {
	GinkgoHelper()
	kubeconfig := consumer.kubeconfig(manager.DefaultNamespace, "spillway-manager")
	identity, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())

	served, elects := options.Manager.Metrics, options.Shard || options.Manager.LeaderElection
	if served.BindAddress == "" {
		options.SkipMetrics, served.BindAddress = true, "0"
	}
	options.Provides = true // As the program does.
	options.Manager = ctrl.Options{
		Metrics:                served,
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: ptr.To(true)},
	}
	if elects {
		options.Manager.LeaderElection, options.Manager.LeaderElectionReleaseOnCancel = true, true
		options.Manager.LeaderElectionID, options.Manager.LeaderElectionNamespace = "spillway-manager", manager.DefaultNamespace
	}
	options.Fleet.ProbeInterval = cmp.Or(options.Fleet.ProbeInterval, 500*time.Millisecond)
	options.Fleet.ProbeTimeout = cmp.Or(options.Fleet.ProbeTimeout, lenient)
	options.Fleet.LeaseDuration = cmp.Or(options.Fleet.LeaseDuration, lenient)
	mgr, err := manager.New(ctx, identity, options)
	Expect(err).NotTo(HaveOccurred(), "making a manager for %s", consumer.Name)
	runCtx, cancel := context.WithCancel(ctx)
	run := &managerRun{cancel: cancel, done: make(chan error, 1)}
	go func() { run.done <- mgr.Start(runCtx) }()
	return run
}

// stop ends the manager. It fails if the manager has ended by itself.
func (r *managerRun) stop() {
	GinkgoHelper()
	Consistently(r.done, 0).ShouldNot(Receive(), "the manager has ended by itself")
	r.cancel()
	Eventually(r.done).Should(Receive(Succeed()), "the manager does not end")
}

// restart ends the manager of home and starts another one.
func restart(options fleet.Options) {
	GinkgoHelper()
	running.stop()
	running = startManager(home, manager.Options{ConsumerID: homeID, Fleet: options})
}

// lenient is how long a probe may take, and how long a Lease in a provider is valid.
const lenient = 30 * time.Second

// defaults are the fleet's own intervals, for specs about outages.
var defaults = fleet.Options{ProbeInterval: 3 * time.Second, ProbeTimeout: 4 * time.Second, LeaseDuration: fleet.DefaultLeaseDuration}

// log collects what is logged.
type log struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (l *log) write(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.buffer, prefix, args)
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buffer.String()
}
