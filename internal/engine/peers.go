package engine

import (
	"context"
	"maps"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

// peerCache are the local namespaces that have a remote namespace in the provider. All NetworkPolicies ask for
// them, so they are computed once per change.
type peerCache struct {
	mu    sync.Mutex // Held during the computation, so that a change meanwhile invalidates its result.
	known bool
	all   []decide.PeerNamespace
}

func (p *peerCache) get(find func() []decide.PeerNamespace) []decide.PeerNamespace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		p.all, p.known = find(), true
	}
	return p.all
}

func (p *peerCache) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all, p.known = nil, false
}

// peerNamespaces returns the local namespaces that NetworkPolicies can name in the provider now. Callers share the
// result and must not change it.
func (n *namespaces) peerNamespaces() []decide.PeerNamespace {
	return n.peers.get(func() []decide.PeerNamespace { return n.current().Peers() })
}

// followLabels enqueues all objects whose copies name other namespaces, when such a namespace appears,
// disappears or gets other labels. It must be called before the first reconciles, which read the labels.
func (n *namespaces) followLabels(ctx context.Context, from cache.Cache) error {
	return informer.Watch(ctx, from, consumer.NamespaceMetadata(), func(e informer.Change) {
		if e.Initially || !n.current().IsPeer(e.Object().GetName()) || sameLabels(e.Before, e.After) {
			return
		}
		n.peers.forget()
		n.enqueuePeers(ctx)
	})
}

// sameLabels reports whether both states are of one object with the same labels.
func sameLabels(before, after client.Object) bool {
	return before != nil && after != nil && before.GetUID() == after.GetUID() && maps.Equal(before.GetLabels(), after.GetLabels())
}
