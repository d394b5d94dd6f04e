// Package observe gathers what a decision about one object looks at. It reads caches
// only, and what was answered in the same pass.
package observe

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/decide/mapping"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/syncer/memory"
	"github.com/spillway-io/spillway/internal/syncer/objects"
	"github.com/spillway-io/spillway/internal/syncer/refusal"
	"github.com/spillway-io/spillway/internal/translate"
)

// Uses knows the objects of all kinds that need others, and those that are needed.
type Uses interface {
	// Places are those of all objects that need one, and used reports whether there
	// is any: it may be in no place yet.
	Places(ctx context.Context, of decide.Key) (places []decide.Place, used bool, err error)
	// Before are the objects that have to be in the provider before a pod is sent there.
	Before(ctx context.Context, pod *corev1.Pod) ([]decide.Ref, error)
	// Needs says of each of these whether who, which is at a place, finds it.
	Needs(ctx context.Context, who decide.Key, refs []decide.Ref, at decide.Place) ([]decide.Need, error)
	// AnyRefused reports whether anything of a copy is refused: if not, none is outdated.
	AnyRefused() bool
	// Outdated is why an object that is in the provider, and needs these, finds an
	// older state of one of them there, or nil.
	Outdated(refs []decide.Ref, at decide.Place) *decide.Problem
}

// Observer makes the snapshots of one kind in one connection.
type Observer[T client.Object] struct {
	Kind      *kind.Kind[T]
	ClusterID string
	Locals    *objects.Locals[T]
	Remotes   *objects.Remotes[T]
	Uses      Uses
	Memory    *memory.Memory
	Refusals  *refusal.Refusals[T]
	// Namespace is the UID of a namespace of the provider, or empty if the cache does not
	// show it, or that it is being deleted.
	Namespace func(ctx context.Context, name string) (types.UID, error)
	// Mapping says where the namespaces go, and Limits what the provider allows, as
	// both are now.
	Mapping func() *mapping.Mapping
	Limits  func() *translate.Limits
	// Peers are the local namespaces that have a counterpart in the provider, as they are now.
	Peers func() []translate.PeerNamespace
	Clock clock.PassiveClock
}

// Observe is the snapshot of a local object. made is what the pass has done already.
func (o *Observer[T]) Observe(ctx context.Context, key types.NamespacedName, made []decide.Attempt) (decide.Snapshot[T], error) {
	namespaces := o.Mapping()
	s := decide.Snapshot[T]{
		Key: key, ClusterID: o.ClusterID, Now: o.Clock.Now(), Reach: namespaces.Reach(), Limits: o.Limits(),
		Elsewhere: func(namespace string) translate.Target { return namespaces.Place(namespace).Target }, Namespaces: o.Peers,
	}
	s.WaitingFor, s.Waiting = o.Memory.Waiting.Since(key)
	if err := o.local(ctx, &s, namespaces); err != nil {
		return s, err
	}
	if o.Kind.Selection.Copies() && s.Known {
		s.Local = answered(s.Local, made)
	}
	if err := o.remote(ctx, &s, namespaces); err != nil || !decide.Present(s.Local) {
		return s, err
	}
	o.Refusals.Recall(&s)
	s.Held = o.Memory.Sent.Wait(key.Namespace)
	s.Lost = o.Memory.Lost.Is(key, s.Local.GetUID())
	s.Unanswered = !decide.Present(s.Remote) && o.Memory.Unanswered.Is(key, s.Local.GetUID())
	if o.Kind.Needs == nil || !s.Known {
		return s, nil
	}
	return s, o.needs(ctx, &s)
}

// Places are where an object of the kind is, or goes. A namespace without an
// alternative needs no look at each pod of it: there may be many.
func (o *Observer[T]) Places(ctx context.Context, key types.NamespacedName) ([]decide.Place, error) {
	namespaces := o.Mapping()
	if alternatives := namespaces.Places(key.Namespace); !o.Kind.Selection.Copies() && len(alternatives) == 1 {
		return alternatives, nil
	}
	s := decide.Snapshot[T]{Key: key}
	if err := o.local(ctx, &s, namespaces); err != nil {
		return nil, err
	}
	if o.Kind.Selection.Copies() && o.Kind.For == nil {
		var places []decide.Place
		for i := range s.Sites {
			places = append(places, s.Sites[i].Place)
		}
		return places, nil
	}
	if err := o.remote(ctx, &s, namespaces); err != nil {
		return nil, err
	}
	return []decide.Place{s.Place}, nil
}

// local finds the local object, and where it should go.
func (o *Observer[T]) local(ctx context.Context, s *decide.Snapshot[T], namespaces *mapping.Mapping) (err error) {
	if s.Local, s.Known, err = o.Locals.Get(ctx, s.Key); err != nil {
		return err
	}
	s.Place = namespaces.Place(s.Key.Namespace)
	switch o.Kind.Selection {
	case kind.Referenced:
		return o.referenced(ctx, s, namespaces)
	case kind.InMappedNamespace:
		s.Place, s.Wanted = namespaces.Mapped(s.Key.Namespace, o.Kind.Resource)
		s.Wanted = s.Wanted && (o.Kind.Never == nil || !o.Kind.Never(s.Key))
		if s.Wanted && s.Place.Open {
			s.Sites = []decide.Site[T]{{Place: s.Place}}
		}
	case kind.OnVirtualNode:
	}
	return nil
}

// referenced finds out whether anything needs the object, and where: that is where it goes.
func (o *Observer[T]) referenced(ctx context.Context, s *decide.Snapshot[T], namespaces *mapping.Mapping) error {
	places, used, err := o.Uses.Places(ctx, o.key(s))
	if err != nil {
		return err
	}
	s.Wanted = used
	for _, place := range places {
		place = namespaces.Near(place, s.Key.Namespace)
		if !slices.ContainsFunc(s.Sites, func(site decide.Site[T]) bool { return site.Place == place }) {
			s.Sites = append(s.Sites, decide.Site[T]{Place: place})
		}
	}
	if s.Wanted && len(s.Sites) == 0 { // What needs it is on its way out, and may use it still.
		s.Place = decide.Place{Problem: decide.NotSynced(o.Kind.Title(), s.Key)}
	}
	slices.SortFunc(s.Sites, func(a, b decide.Site[T]) int {
		return cmp.Or(cmp.Compare(a.Place.Namespace, b.Place.Namespace), cmp.Compare(a.Place.Local, b.Place.Local))
	})
	return nil
}

// needs finds out what is ready of what the object needs, where it is not yet: that
// matters when it is created.
func (o *Observer[T]) needs(ctx context.Context, s *decide.Snapshot[T]) error {
	var err error
	for i := range s.Sites {
		if site := &s.Sites[i]; !decide.Present(site.Remote) {
			if site.Needs, err = o.Uses.Needs(ctx, o.key(s), o.Kind.Needs(s.Local), site.Place); err != nil {
				return err
			}
		}
	}
	switch {
	case len(s.Sites) > 0:
		s.Needs = s.Sites[0].Needs
	case !decide.Present(s.Remote):
		return o.firstNeeds(ctx, s)
	case o.Uses.AnyRefused():
		s.Outdated = o.Uses.Outdated(o.Kind.Needs(s.Local), s.Place)
	}
	return err
}

// key names the object of a snapshot.
func (o *Observer[T]) key(s *decide.Snapshot[T]) decide.Key {
	return decide.Key{Kind: o.Kind.Name, NamespacedName: s.Key}
}

// firstNeeds are the needs of what has one place, and is not there yet.
func (o *Observer[T]) firstNeeds(ctx context.Context, s *decide.Snapshot[T]) error {
	var err error
	if s.Needs, err = o.Uses.Needs(ctx, o.key(s), o.Kind.Needs(s.Local), s.Place); err != nil {
		return err
	}
	if pod, ok := any(s.Local).(*corev1.Pod); ok && pod.DeletionTimestamp.IsZero() && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		before, err := o.Uses.Before(ctx, pod)
		if err != nil {
			return err
		}
		for i := range before { // Many pods may wait for many: the first that is not ready is enough.
			need, err := o.Uses.Needs(ctx, o.key(s), before[i:i+1], s.Place)
			if err != nil {
				return err
			}
			if s.Needs = append(s.Needs, need...); s.Unready() != nil {
				break
			}
		}
	}
	if o.Kind.Selection == kind.OnVirtualNode && s.Place.Open {
		err = o.namespace(ctx, s)
	}
	return err
}

// namespace finds out who the owner of the remote object is. The NamespaceMap may say
// that the namespace is there before the cache does.
func (o *Observer[T]) namespace(ctx context.Context, s *decide.Snapshot[T]) (err error) {
	name := s.Place.Namespace
	s.NamespaceUID, err = o.Namespace(ctx, name)
	s.Needs = append(s.Needs, decide.Need{
		Kind: "namespace", NamespacedName: types.NamespacedName{Name: name}, Ready: s.NamespaceUID != "",
		Problem: decide.Problemf(v1alpha1.ReasonNamespaceNotReady, "namespace %s of provider %s is not to be seen there yet", name, o.ClusterID),
	})
	return err
}

// Ahead reports whether something was written about an object that the caches do not
// show yet.
func (o *Observer[T]) Ahead(s decide.Snapshot[T]) bool {
	at := func(place decide.Place) bool { return o.Remotes.Ahead(o.Kind.RemoteName(place.Target, s.Key)) }
	return o.Locals.Ahead(s.Key) || at(s.Place) ||
		slices.ContainsFunc(s.Sites, func(site decide.Site[T]) bool { return at(site.Place) })
}

// Referers are the objects of the kind that need another one in the provider. What its limits
// refuse to send needs nothing; what runs there already needs it still.
func (o *Observer[T]) Referers(ctx context.Context, of decide.Key) ([]types.NamespacedName, error) {
	keys, err := o.Locals.Needing(ctx, of)
	if o.Kind.Refused == nil || err != nil {
		return keys, err
	}
	limits := o.Limits()
	var needing []types.NamespacedName
	for _, key := range keys {
		local, known, err := o.Locals.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		if known && o.Kind.Refused(local, limits) {
			remotes, err := o.Remotes.StandIns(ctx, key, o.Mapping().Places(key.Namespace))
			if err != nil {
				return nil, err
			}
			if len(remotes) == 0 {
				continue
			}
		}
		needing = append(needing, key) // One that goes is enqueued by its own change.
	}
	return needing, nil
}

// answered is a local object as the consumer has answered with it in this pass,
// which is with its content, or as it is seen, if it has changed since.
func answered[T client.Object](seen T, made []decide.Attempt) T {
	for _, before := range slices.Backward(made) {
		whole, ok := before.Answer.(T)
		if ok && before.Side == decide.Local && whole.GetUID() == seen.GetUID() && !ownwrites.Older(whole, seen) {
			return whole
		}
	}
	return seen
}
