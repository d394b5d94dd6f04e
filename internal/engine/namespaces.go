package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// namespaces knows where the consumer's namespaces go in one provider.
type namespaces struct {
	binding string
	mark    provenance.Mark
	// enqueue enqueues all objects of a local namespace. An empty name means all namespaces.
	enqueue func(ctx context.Context, namespace string)
	// enqueuePeers enqueues all objects whose copies name other namespaces.
	enqueuePeers func(ctx context.Context)
	// mapped gets the changed binding before the objects that its classes concern are enqueued.
	mapped func(binding *v1alpha1.ClusterBinding)

	mu      sync.Mutex // Held while mapping is changed.
	mapping atomic.Pointer[mapping.Mapping]
	peers   peerCache
}

// current returns the present mapping.
func (n *namespaces) current() *mapping.Mapping { return n.mapping.Load() }

// paused reports whether the binding is paused.
func (n *namespaces) paused() bool { return n.current().Binding().Spec.Paused }

// allEvents reports whether the binding shows all events of the provider.
func (n *namespaces) allEvents() bool {
	return n.current().Binding().Spec.Events == v1alpha1.ProviderEventsAll
}

// concerns reports whether a local namespace is, or was, mapped to one of the provider.
func (n *namespaces) concerns(namespace string) bool { return n.current().Concerns(namespace) }

// isCopy reports whether a remote object is where the copy of the local one is, or would be. The kind must be
// one that is sent because of its namespace.
func (n *namespaces) isCopy(kind Registration, local, remote types.NamespacedName) bool {
	at, wanted := kind.mapped(n.current(), local)
	return wanted && at == remote
}

// resolve returns where an object at a given destination finds the objects of a local namespace.
func (n *namespaces) resolve(at decide.Destination, namespace string) decide.Destination {
	return n.current().Resolve(at, namespace)
}

// load reads where the namespaces go, before anything is decided.
func (n *namespaces) load(ctx context.Context, from client.Reader, w mapping.LocalNamespaces) error {
	binding, nsm := &v1alpha1.ClusterBinding{}, &v1alpha1.NamespaceMap{}
	if err := from.Get(ctx, client.ObjectKey{Name: n.binding}, binding); err != nil {
		return fmt.Errorf("getting ClusterBinding %s: %w", n.binding, err)
	}
	err := from.Get(ctx, client.ObjectKey{Name: n.binding}, nsm)
	switch {
	case apierrors.IsNotFound(err):
		nsm = nil
	case err != nil:
		return fmt.Errorf("getting NamespaceMap %s: %w", n.binding, err)
	}
	n.mapping.Store(mapping.New(n.mark, binding, nsm, w))
	return nil
}

// follow enqueues what depends on a change of the binding or of its NamespaceMap.
func (n *namespaces) follow(ctx context.Context, from cache.Cache) error {
	// A change may be late (informer.Shared): the cache shows the present state.
	read := func(e informer.Change, into client.Object) bool {
		return e.After != nil && e.After.GetName() == n.binding &&
			from.Get(ctx, client.ObjectKey{Name: n.binding}, into, client.UnsafeDisableDeepCopy) == nil
	}
	err := informer.Watch(ctx, from, &v1alpha1.NamespaceMap{}, func(e informer.Change) {
		nsm := &v1alpha1.NamespaceMap{}
		if !read(e, nsm) {
			return // Spillway recreates a deleted map. Nothing is decided meanwhile.
		}
		before, after := n.remap(func(m *mapping.Mapping) *mapping.Mapping { return m.WithMap(nsm) })
		if !before.Known() {
			n.enqueue(ctx, "") // Objects without an entry have waited, too.
			return
		}
		differing := before.Differing(after)
		for _, namespace := range differing {
			n.enqueue(ctx, namespace)
		}
		if len(differing) > 0 {
			n.enqueuePeers(ctx)
		}
	})
	if err != nil {
		return err
	}
	return informer.Watch(ctx, from, &v1alpha1.ClusterBinding{}, func(e informer.Change) {
		binding := &v1alpha1.ClusterBinding{}
		if !read(e, binding) {
			return
		}
		before, _ := n.remap(func(m *mapping.Mapping) *mapping.Mapping { return m.WithBinding(binding) })
		n.mapped(binding)
		if differ(before.Binding(), binding) {
			n.enqueue(ctx, "")
		}
	})
}

// differ reports whether two states of a binding may lead to different decisions.
func differ(a, b *v1alpha1.ClusterBinding) bool {
	return a.Generation != b.Generation || mountnamespace.Usable(a) != mountnamespace.Usable(b) ||
		drain.ReachedCopies(a) != drain.ReachedCopies(b) || mapping.InvalidAPI(a) != mapping.InvalidAPI(b) || !network.Of(a).Equal(network.Of(b))
}

// followOffloadings enqueues the objects of a namespace whose offloading has changed or gone. What waited for
// an entry may stop waiting, and another list of kinds may be sent. A new offloading changes nothing before its
// entry appears, which enqueues the objects. The exception is a new offloading that finds the entry of an
// earlier one. followOffloadings must be called before the first reconciles: a change between them and the call
// would be lost.
func (n *namespaces) followOffloadings(ctx context.Context, from cache.Cache) error {
	return informer.Watch(ctx, from, &v1alpha1.NamespaceOffloading{}, func(e informer.Change) {
		switch {
		case e.Before == nil && (e.Initially || !n.concerns(e.After.GetNamespace())):
		case e.Before == nil, e.After == nil, e.Before.GetGeneration() != e.After.GetGeneration(), e.Before.GetUID() != e.After.GetUID():
			n.enqueue(ctx, e.Object().GetNamespace())
		}
	})
}

// remap changes where the namespaces go.
func (n *namespaces) remap(change func(*mapping.Mapping) *mapping.Mapping) (before, after *mapping.Mapping) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before = n.mapping.Load()
	after = change(before)
	n.mapping.Store(after)
	n.peers.forget()
	return before, after
}
