package manager

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/shard"
)

// sharing has what replicas need to share the bindings. It is nil if they do not share them.
type sharing struct {
	*shard.Coordinator
	// reader reads the cached ClusterBindings. newManager sets it.
	reader client.Reader
}

// shareBindings completes the options if replicas share the bindings. Otherwise it returns nil.
func shareBindings(o *Options, consumer identity) *sharing {
	if !o.Shard {
		return nil
	}
	if o.Fleet.Identity == "" {
		o.Fleet.Identity = fleet.NewIdentity()
	}
	registry := shard.NewRegistry(shard.RegistryOptions{
		Leases: consumer.clients.CoordinationV1().Leases(o.Namespace), Identity: o.Fleet.Identity,
	})
	o.Fleet.Shares = registry.IsAlive
	s := &sharing{}
	s.Coordinator = shard.New(registry, s.holders, clock.RealClock{})
	return s
}

// holders returns, for each binding, the manager that last took its Lease.
func (s *sharing) holders(ctx context.Context) (map[string]string, error) {
	var all v1alpha1.ClusterBindingList
	if err := s.reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	holders := make(map[string]string, len(all.Items))
	for i := range all.Items {
		holders[all.Items[i].Name] = all.Items[i].Status.Holder.Identity
	}
	return holders, nil
}

// newManager creates the manager. multicluster-runtime starts a provider only in the elected replica.
// If replicas share the bindings, newManager hides the fleet's Start method from it, and starts the
// fleet itself.
func (s *sharing) newManager(config *rest.Config, connections *fleet.Fleet, options ctrl.Options) (mcmanager.Manager, error) {
	if s == nil {
		return mcmanager.New(config, fleet.Clusters{Fleet: connections}, options)
	}
	mgr, err := mcmanager.New(config, struct{ multicluster.Provider }{fleet.Clusters{Fleet: connections}}, options, mcmanager.WithCoordinator(s.Coordinator))
	if err != nil {
		return nil, err
	}
	s.reader = mgr.GetLocalManager().GetClient()
	return mgr, s.everywhere(mgr.GetLocalManager()).Add(manager.RunnableFunc(func(ctx context.Context) error {
		return connections.Start(ctx, mgr)
	}))
}

// everywhere returns a manager that runs what is added to it in all replicas that share the bindings.
func (s *sharing) everywhere(local ctrl.Manager) ctrl.Manager {
	if s == nil {
		return local
	}
	return shard.Everywhere(local)
}

// owner returns which bindings this replica works for.
func (s *sharing) owner() shard.Owner {
	if s == nil {
		return shard.All{}
	}
	return s.Coordinator
}

// serveKubelet adds the server of the virtual nodes' kubelet API, in each replica that works for them.
// It returns the metrics of its streams.
func (s *sharing) serveKubelet(mgr mcmanager.Manager, o kubelet.Options, world *kubelet.PodReader) (*metrics.Streams, error) {
	if o.Address == "" {
		return &metrics.Streams{Of: func() map[metrics.StreamsOf]metrics.StreamUsage { return nil }}, nil
	}
	server, err := kubelet.NewServer(o, mgr.GetLocalManager().GetConfig(), world, mgr.GetLocalManager().GetCache())
	if err != nil {
		return nil, err
	}
	if s != nil {
		mgr = shard.EverywhereAware(mgr)
	}
	return &metrics.Streams{Of: server.Usage}, mgr.Add(server)
}

func (s *sharing) coordinator() *shard.Coordinator {
	if s == nil {
		return nil
	}
	return s.Coordinator
}
