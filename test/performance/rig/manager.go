package rig

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/requests"
)

// Manager is a manager that runs in this process, so that its requests can be counted.
type Manager struct {
	cancel context.CancelFunc
	ended  chan error
	once   sync.Once
}

// StartManager starts a manager with the identity and the rights of the manifests. consumerID is its
// --cluster-id. The counter counts its requests to the consumer, under the name "consumer", and to the
// providers, under their IDs.
func (r *Rig) StartManager(ctx context.Context, consumerID string, counter *requests.Counter) (*Manager, error) {
	return r.StartWrapped(ctx, consumerID, counter.WrapNamed)
}

// StartWrapped does the same with any wrapper of the transports.
func (r *Rig) StartWrapped(ctx context.Context, consumerID string, wrap func(cluster string, next http.RoundTripper) http.RoundTripper) (*Manager, error) {
	kubeconfig, err := r.ManagerKubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the manager's kubeconfig: %w", err)
	}
	options := manager.Options{
		ConsumerID: consumerID, SkipMetrics: true,
		WrapTransport: func(next http.RoundTripper) http.RoundTripper { return wrap(r.Consumer.ID, next) },
		Fleet:         fleet.Options{WrapTransport: wrap},
	}
	options.Manager.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Manager.HealthProbeBindAddress = "0"
	options.Manager.Controller.SkipNameValidation = ptr.To(true) // One manager follows another.
	ctx, cancel := context.WithCancel(ctx)
	mgr, err := manager.New(ctx, config, options)
	if err != nil {
		cancel()
		return nil, err
	}
	m := &Manager{cancel: cancel, ended: make(chan error, 1)}
	go func() { m.ended <- mgr.Start(ctx) }()
	return m, nil
}

// Stop ends the manager, and waits until it has ended. Only the first call does so, and returns its error.
func (m *Manager) Stop() error {
	var err error
	m.once.Do(func() {
		m.cancel()
		err = <-m.ended
	})
	return err
}
