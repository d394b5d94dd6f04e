package syncer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/decide/mapping"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/rights"
	"github.com/spillway-io/spillway/internal/translate"
	"github.com/spillway-io/spillway/internal/views"
)

// pair is the consumer as one ClusterBinding sees it, and its provider, for as
// long as one connection lasts.
type pair struct {
	binding   string
	clusterID string
	mark      provenance.Mark
	limits    atomic.Pointer[translate.Limits] // What the provider allows; nil before that is known.

	consumer client.Client
	live     client.Reader // The consumer itself, not its caches.
	provider cluster.Cluster
	rights   *rights.Rights
	view     *views.View
	// What the caches show, put right by what has been written.
	local, remote, catalogue *ownwrites.Reader
	catalogueCache           cache.Cache
	mu                       sync.Mutex // Held while mapping is changed.
	mapping                  atomic.Pointer[mapping.Mapping]

	// exceeds says what the provider would hold too much of if before, which may be nil,
	// became after; or "".
	exceeds func(before, after client.Object) string

	events events.EventRecorder
	clock  clock.WithTicker
	kinds  map[string]attached
}

// attached is the controller of one kind in one pair.
type attached interface {
	start(ctx context.Context) error
	// enqueue asks for a pass over each of these local objects.
	enqueue(keys ...types.NamespacedName)
	// enqueueNamespace asks for one over all that are known, of one local
	// namespace, or of all of them.
	enqueueNamespace(ctx context.Context, namespace string)
	// need reports whether an object that is needed in a namespace of the provider is there.
	need(ctx context.Context, ref decide.Ref, in string) (decide.Need, error)
	// places are where an object of the kind is, or goes.
	places(ctx context.Context, key types.NamespacedName) ([]decide.Place, error)
	// anyRefused reports whether an API server has refused anything of a copy.
	anyRefused() bool
	// outdated is why a copy in a namespace of the provider is not as the object is, or nil.
	outdated(key types.NamespacedName, in string) *decide.Problem
	// referers are the objects of the kind that need ref.
	referers(ctx context.Context, ref decide.Ref) ([]types.NamespacedName, error)
}

// paused reports whether the binding says that nothing is to be done.
func (p *pair) paused() bool { return p.mapping.Load().Binding().Spec.Paused }

// place is where the new objects of a local namespace go.
func (p *pair) place(namespace string) decide.Place {
	return p.mapping.Load().Place(namespace)
}

// reach says which addresses of the provider are shown.
func (p *pair) reach() network.Reach { return p.mapping.Load().Reach() }

// referers are all objects that need ref, by their kind.
func (p *pair) referers(ctx context.Context, ref decide.Ref) (map[string][]types.NamespacedName, error) {
	found := map[string][]types.NamespacedName{}
	for name, kind := range p.kinds {
		keys, err := kind.referers(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("looking for what needs %s: %w", ref, err)
		}
		if len(keys) > 0 {
			found[name] = keys
		}
	}
	return found, nil
}

// tell asks for a pass over all that needs ref, because something has become of it.
func (p *pair) tell(ctx context.Context, ref decide.Ref) error {
	found, err := p.referers(ctx, ref)
	for name, keys := range found {
		p.kinds[name].enqueue(keys...)
	}
	return err
}

// ask asks for a pass over all of these.
func (p *pair) ask(refs []decide.Ref) {
	for _, ref := range refs {
		if kind, ok := p.kinds[ref.Kind]; ok {
			kind.enqueue(ref.NamespacedName)
		}
	}
}

// placeIn is the place of what has gone to a namespace of the provider.
func (p *pair) placeIn(namespace, remote string) decide.Place {
	return p.mapping.Load().PlaceIn(namespace, remote)
}

// alternatives are the places where objects of a local namespace may be.
func (p *pair) alternatives(namespace string) []decide.Place {
	return p.mapping.Load().Places(namespace)
}

// near is the place of what an object at a place needs of a local namespace.
func (p *pair) near(at decide.Place, namespace string) decide.Place {
	return p.mapping.Load().Near(at, namespace)
}

// needs says of each of these whether what is at a place finds it.
func (p *pair) needs(ctx context.Context, refs []decide.Ref, at decide.Place) ([]decide.Need, error) {
	var needs []decide.Need
	for _, ref := range refs {
		kind, ok := p.kinds[ref.Kind]
		if !ok {
			return nil, fmt.Errorf("no controller for the kind %s, which %s is of", ref.Kind, ref.NamespacedName)
		}
		need, err := kind.need(ctx, ref, p.near(at, ref.Namespace).Namespace)
		if err != nil {
			return nil, err
		}
		needs = append(needs, need)
	}
	return needs, nil
}
