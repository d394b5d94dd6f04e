package integration

import (
	"bytes"
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
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/manager"
)

// managerRun is a manager that runs in this process.
type managerRun struct {
	cancel context.CancelFunc
	done   chan error
}

// startManager runs a manager for the consumer, as the ServiceAccount that is
// shipped, with short probes unless the options say otherwise.
func startManager(consumer *controlPlane, options manager.Options) *managerRun {
	GinkgoHelper()
	kubeconfig := consumer.kubeconfig(manager.DefaultNamespace, "spillway-manager")
	identity, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	Expect(err).NotTo(HaveOccurred())

	options.SkipMetrics = true
	options.Manager = ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             config.Controller{SkipNameValidation: ptr.To(true)},
	}
	if options.Shard {
		options.Manager.LeaderElection, options.Manager.LeaderElectionReleaseOnCancel = true, true
		options.Manager.LeaderElectionID, options.Manager.LeaderElectionNamespace = "spillway-manager", manager.DefaultNamespace
	}
	if options.Fleet.ProbeInterval == 0 {
		options.Fleet.ProbeInterval = 500 * time.Millisecond
	}
	mgr, err := manager.New(ctx, identity, options)
	Expect(err).NotTo(HaveOccurred(), "making a manager for %s", consumer.Name)
	runCtx, cancel := context.WithCancel(ctx)
	run := &managerRun{cancel: cancel, done: make(chan error, 1)}
	go func() { run.done <- mgr.Start(runCtx) }()
	return run
}

// stop ends the manager, which must not have ended by itself.
func (r *managerRun) stop() {
	GinkgoHelper()
	Consistently(r.done, 0).ShouldNot(Receive(), "the manager has ended by itself")
	r.cancel()
	Eventually(r.done).Should(Receive(Succeed()), "the manager does not end")
}

// defaults are the fleet's own intervals, for specs about outages.
var defaults = fleet.Options{ProbeInterval: 3 * time.Second}

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
