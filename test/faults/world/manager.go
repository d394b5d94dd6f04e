package world

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	relay "github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// Short intervals for the managers' connections to their providers. A run waits for them when a provider was
// away.
const (
	probeInterval = 500 * time.Millisecond
	probeTimeout  = time.Second
	probeFailures = 2
	syncTimeout   = 5 * time.Second
	// leaseDuration is how long the successor of a crashed manager waits.
	leaseDuration = time.Second
	// shutdownTimeout is how long a stopped manager may take to finish.
	shutdownTimeout = 10 * time.Second
)

// loopback is the address at which the API servers reach the managers.
const loopback = "127.0.0.1"

// InHaste returns the connection options for runs with faults: the manager soon notices that a provider is
// away. On a busy machine it may take a slow answer for none, and report that.
func InHaste() fleet.Options {
	return fleet.Options{
		ProbeInterval: probeInterval, ProbeTimeout: probeTimeout, ProbeFailures: probeFailures, SyncTimeout: syncTimeout, LeaseDuration: leaseDuration,
	}
}

// Wrap wraps the transport of a manager to a cluster: Consumer, or the name of the ClusterBinding.
type Wrap func(cluster string, next http.RoundTripper) http.RoundTripper

// Manager is a manager that runs in this process.
type Manager struct {
	cache  cache.Cache
	cancel context.CancelFunc
	ended  chan struct{}
	once   sync.Once
	err    error
}

// StartManager starts a manager with the identity and the rights of the manifests. All its connections go
// through the proxies. connections are its connection options to providers; zero values mean the defaults.
// The manager ends with ctx, Stop or End. wrap may be nil.
func (w *World) StartManager(ctx context.Context, connections fleet.Options, wrap Wrap) (*Manager, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(w.kubeconfigs[Consumer])
	if err != nil {
		return nil, fmt.Errorf("reading the manager's kubeconfig: %w", err)
	}
	w.mu.Lock()
	served := relay.Options{Address: loopback, Port: w.port}
	w.mu.Unlock()
	options := manager.Options{ConsumerID: w.ConsumerID, SkipMetrics: true, Provides: true, Fleet: connections, Kubelet: served}
	if wrap != nil {
		options.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return wrap(Consumer, next) }
		options.Fleet.WrapTransport = wrap
	}
	options.Manager.Logger = w.Log.logger()
	options.Manager.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Manager.HealthProbeBindAddress = "0"
	options.Manager.Controller.SkipNameValidation = ptr.To(true) // There are many managers.
	options.Manager.GracefulShutdownTimeout = ptr.To(shutdownTimeout)
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(ctx, options.Manager.Logger))
	mgr, err := manager.New(ctx, config, options)
	if err != nil {
		cancel()
		return nil, err
	}
	m := &Manager{cancel: cancel, ended: make(chan struct{}), cache: mgr.GetLocalManager().GetCache()}
	go func() {
		defer close(m.ended)
		m.err = mgr.Start(ctx)
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.managers = append(w.managers, m)
	return m, nil
}

// Synced waits until the manager's caches of the consumer are full.
func (m *Manager) Synced(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if !m.cache.WaitForCacheSync(ctx) {
		return fmt.Errorf("the caches of the consumer are not full after %s: %w", within, context.Cause(ctx))
	}
	return nil
}

// Ended returns a channel that is closed when the manager has ended, by itself or because it was stopped.
func (m *Manager) Ended() <-chan struct{} { return m.ended }

// Stop ends the manager, and waits until it and its goroutines have ended. The first call returns the
// manager's error.
func (m *Manager) Stop() error {
	m.cancel()
	<-m.ended
	var err error
	m.once.Do(func() { err = m.err })
	return err
}
