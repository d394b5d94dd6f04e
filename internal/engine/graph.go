package engine

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// graph knows which objects of one connection need which others, across all kinds.
type graph struct {
	// kinds has the controllers of all kinds, in both directions, by the kind's name. runners has the kinds
	// that are sent. needing has the kinds whose objects may need others. needed has the kinds that others may
	// need.
	kinds   map[string]Runner
	runners map[string]runner
	needing map[string]needing
	needed  map[string]needed
	// preceding has the kinds whose objects must be in the provider before pods.
	preceding map[string]preceding
	// resolve returns where an object at a given destination finds the objects of a local namespace.
	resolve func(at decide.Destination, namespace string) decide.Destination
}

// runner is the controller of a kind that is sent.
type runner interface {
	Runner
	// EnqueuePeers enqueues the objects whose copies name other namespaces.
	EnqueuePeers(ctx context.Context)
	// Recount enqueues the objects for which a pod of the virtual node starts or stops counting.
	Recount(ctx context.Context, before, after *corev1.Pod)
	// Unsent lists the pods of a local namespace that are not in the provider yet. For other kinds, it returns
	// nothing.
	Unsent(ctx context.Context, namespace string) ([]decide.Key, error)
}

// needing is a kind whose objects may need others.
type needing interface {
	// Referers lists the objects of the kind that need the given one.
	Referers(ctx context.Context, of decide.Key) ([]types.NamespacedName, error)
	// Destinations lists where an object of the kind is, or goes.
	Destinations(ctx context.Context, key types.NamespacedName) ([]decide.Destination, error)
}

// needed is a kind whose objects others may need.
type needed interface {
	// need reports whether who finds the object that it needs in a namespace of the provider.
	need(ctx context.Context, who decide.Key, ref decide.Ref, in string) (decide.Need, error)
	// anyRefused reports whether an API server has refused a request for any copy.
	anyRefused() bool
	// outdated says why the copy in a namespace of the provider differs from its object. It returns nil if they
	// agree.
	outdated(key types.NamespacedName, in string) *field.Problem
}

// preceding is a kind whose objects must be in the provider before pods.
type preceding interface {
	// before lists the objects that must be in the provider before the pod.
	before(ctx context.Context, pod *corev1.Pod) ([]decide.Ref, error)
}

// EnqueueNamespace enqueues the objects of all kinds in a local namespace.
func (g *graph) EnqueueNamespace(ctx context.Context, namespace string) {
	for _, kind := range g.kinds {
		kind.EnqueueNamespace(ctx, namespace)
	}
}

// EnqueuePeers enqueues the objects, of all kinds, whose copies name other namespaces.
func (g *graph) EnqueuePeers(ctx context.Context) {
	for _, kind := range g.runners {
		kind.EnqueuePeers(ctx)
	}
}

// Referers lists all objects that need the given one.
func (g *graph) Referers(ctx context.Context, of decide.Key) ([]decide.Key, error) {
	var found []decide.Key
	for name, kind := range g.needing {
		keys, err := kind.Referers(ctx, of)
		if err != nil {
			return nil, fmt.Errorf("looking for what needs %s: %w", of, err)
		}
		for _, key := range keys {
			found = append(found, decide.Key{Kind: name, NamespacedName: key})
		}
	}
	return found, nil
}

// dependants lists all objects that need the outcome of the given one. If its kind precedes pods, these are the
// pods of its namespace that are not in the provider yet. Otherwise, they are the objects that need it.
func (g *graph) dependants(ctx context.Context, of decide.Key) ([]decide.Key, error) {
	if g.preceding[of.Kind] == nil {
		return g.Referers(ctx, of)
	}
	var all []decide.Key
	for name, kind := range g.runners {
		unsent, err := kind.Unsent(ctx, of.Namespace)
		if err != nil {
			return nil, fmt.Errorf("looking for what waits in namespace %s: %s: %w", of.Namespace, name, err)
		}
		all = append(all, unsent...)
	}
	return all, nil
}

// Before lists the objects of all kinds that must be in the provider before the pod.
func (g *graph) Before(ctx context.Context, pod *corev1.Pod) ([]decide.Ref, error) {
	var refs []decide.Ref
	for name, kind := range g.preceding {
		of, err := kind.before(ctx, pod)
		if err != nil {
			return nil, fmt.Errorf("looking for what pod %s/%s has to wait for: %s: %w", pod.Namespace, pod.Name, name, err)
		}
		refs = append(refs, of...)
	}
	return refs, nil
}

// Destinations lists where all objects are that need the given one. used reports whether there is any such object.
func (g *graph) Destinations(ctx context.Context, of decide.Key) (places []decide.Destination, used bool, err error) {
	found, err := g.Referers(ctx, of)
	for _, key := range found {
		at, err := g.needing[key.Kind].Destinations(ctx, key.NamespacedName)
		if err != nil {
			return nil, false, err
		}
		for _, place := range at {
			if !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	return places, len(found) > 0, err
}

// Needs reports, for each of refs, whether who finds that object in the provider.
func (g *graph) Needs(ctx context.Context, who decide.Key, refs []decide.Ref, at decide.Destination) ([]decide.Need, error) {
	var needs []decide.Need
	for _, ref := range refs {
		kind, ok := g.needed[ref.Kind]
		if !ok {
			return nil, fmt.Errorf("no controller for the kind %s, which %s is of", ref.Kind, ref.NamespacedName)
		}
		need, err := kind.need(ctx, who, ref, g.resolve(at, ref.Namespace).Namespace)
		if err != nil {
			return nil, err
		}
		needs = append(needs, need)
	}
	return needs, nil
}

// AnyRefused reports whether an API server has refused a request for a copy of any kind.
func (g *graph) AnyRefused() bool {
	for _, kind := range g.needed {
		if kind.anyRefused() {
			return true
		}
	}
	return false
}

// Outdated says why an object finds an older state of one of refs in the provider. It returns nil if all are up
// to date.
func (g *graph) Outdated(refs []decide.Ref, at decide.Destination) *field.Problem {
	for _, ref := range refs {
		kind, ok := g.needed[ref.Kind]
		if !ok {
			continue
		}
		if problem := kind.outdated(ref.NamespacedName, g.resolve(at, ref.Namespace).Namespace); problem != nil {
			return problem
		}
	}
	return nil
}
