package shard

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/manager/coordinator/basic"
	"sigs.k8s.io/multicluster-runtime/pkg/manager/coordinator/sharded/peers"
)

// decideInterval is how often to decide which replica works for which binding. That reads only memory.
const decideInterval = time.Second

// Coordinator knows which bindings this replica works for. It is a Coordinator of multicluster-runtime. It
// passes an engaged cluster to all who wait for it at once, with the context of its own connection. It can,
// because a replica that does not own a binding does not connect its provider at all.
type Coordinator struct {
	*basic.Coordinator
	registry peers.Registry
	holders  Holders
	clock    clock.WithTicker

	mu       sync.Mutex
	owned    sets.Set[string]
	handlers []func(binding string)
}

// Holders returns all bindings, each with the identity of the replica that holds it, or "".
type Holders func(ctx context.Context) (map[string]string, error)

var _ mcmanager.Coordinator = &Coordinator{}

// New returns a Coordinator that owns nothing until it runs.
func New(registry peers.Registry, holders Holders, c clock.WithTicker) *Coordinator {
	return &Coordinator{Coordinator: basic.New(), registry: registry, holders: holders, clock: c, owned: sets.New[string]()}
}

// Owns reports whether this replica works for the binding.
func (c *Coordinator) Owns(binding string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owned.Has(binding)
}

// Subscribe calls handle with each binding that is gained or lost from now on, after Owns reports it. handle
// must not block.
func (c *Coordinator) Subscribe(handle func(binding string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers = append(c.handlers, handle)
}

// Runnable runs the registry and the decisions, in all replicas.
func (c *Coordinator) Runnable() manager.Runnable { return runnable{c} }

type runnable struct{ c *Coordinator }

var _ manager.LeaderElectionRunnable = runnable{}

// NeedLeaderElection returns false: all replicas share the bindings.
func (runnable) NeedLeaderElection() bool { return false }

// Start runs until ctx ends, and returns once this replica has left the others.
func (r runnable) Start(ctx context.Context) error {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("shard"))
	ended := make(chan error, 1)
	go func() { ended <- r.c.registry.Run(ctx) }()
	ticker := r.c.clock.NewTicker(decideInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C():
			r.c.decide(ctx)
		}
	}
}

// decide decides again, and reports changes to the handlers.
func (c *Coordinator) decide(ctx context.Context) {
	replicas, self := identities(c.registry), c.registry.Self().ID
	var assigned map[string]string
	if len(replicas) > 0 {
		holders, err := c.holders(ctx)
		if err != nil {
			if ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "the bindings stay as they are shared")
			}
			return
		}
		assigned = Assign(replicas, holders)
	}
	maps.DeleteFunc(assigned, func(_, replica string) bool { return replica != self })
	owned := sets.KeySet(assigned)
	changed, handlers := c.take(owned)
	if len(changed) > 0 {
		log.FromContext(ctx).Info("this replica works for other bindings than before", "replicas", len(replicas), "bindings", len(owned), "changed", changed)
	}
	for _, binding := range changed {
		for _, handle := range handlers {
			handle(binding)
		}
	}
}

// take sets what this replica owns, and returns the changed bindings, in order.
func (c *Coordinator) take(owned sets.Set[string]) (changed []string, handlers []func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = sets.List(c.owned.SymmetricDifference(owned))
	c.owned = owned
	return changed, slices.Clone(c.handlers)
}

// identities returns the identities of the living replicas; none if this replica is not among them.
func identities(registry peers.Registry) []string {
	var all []string
	for _, peer := range registry.Snapshot() {
		all = append(all, peer.ID)
	}
	if !slices.Contains(all, registry.Self().ID) {
		return nil
	}
	return all
}
