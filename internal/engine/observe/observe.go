// Package observe reads what a decision about one object depends on: from caches, and from the API servers'
// answers in the same reconcile.
package observe

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// Uses knows the objects of all kinds that need others, and those that are needed.
type Uses interface {
	// Destinations lists where all objects are that need the given one. used reports whether there is such an object:
	// it may have no destination yet.
	Destinations(ctx context.Context, of decide.Key) (places []decide.Destination, used bool, err error)
	// Before lists the objects that must be in the provider before the pod is sent there.
	Before(ctx context.Context, pod *corev1.Pod) ([]decide.Ref, error)
	// Needs returns, for each of refs, whether it is ready for who at a destination.
	Needs(ctx context.Context, who decide.Key, refs []decide.Ref, at decide.Destination) ([]decide.Need, error)
	// AnyRefused reports whether an API server has refused a request for any copy. If not, no copy is outdated.
	AnyRefused() bool
	// Outdated says why one of refs is out of date at a destination. It returns nil if all are up to
	// date.
	Outdated(refs []decide.Ref, at decide.Destination) *field.Problem
}

// Observer observes the objects of one kind in one connection.
type Observer[T client.Object] struct {
	Kind      *kind.Kind[T]
	ClusterID string
	Locals    *objects.Locals[T]
	Remotes   *objects.Remotes[T]
	Uses      Uses
	Sent      *attempts.Sent
	// Tokens is needed for a kind with Tokens.
	Tokens func() Tokens
	// Pods reads the pods on the virtual node.
	Pods client.Reader
	// Namespace returns the UID of a namespace in the provider. It is empty if the cache does not have the
	// namespace, or shows that it is being deleted.
	Namespace func(ctx context.Context, name string) (types.UID, error)
	// Mapping returns where the namespaces go now, and Limits what the provider allows now.
	Mapping func() *mapping.Mapping
	Limits  func() *field.Limits
	// Has reports whether the provider has a class.
	Has field.Has
	// NodesHave reports which nodes of the provider have a label; see decide.Inputs.
	NodesHave func(ctx context.Context, remote *corev1.Pod, key string) (some, all, known bool)
	// Peers returns the local namespaces that have a remote namespace in the provider now.
	Peers func() []decide.PeerNamespace
	// Groups returns the groups of the provider's virtual nodes; see decide.Inputs. If nil, there are none.
	Groups func() map[string]field.Group
	// Alone reports whether an object is sent although nothing needs it (kind.Kind.Alone). Optional.
	Alone func(local client.Object) bool
	// Volume returns a PersistentVolume of the consumer; see decide.Inputs.
	Volume func(ctx context.Context, name string) (*corev1.PersistentVolume, bool)
	// Waiting returns the consumer's pods of a namespace that have no node; see decide.Inputs.
	Waiting func(ctx context.Context, namespace string) []corev1.Pod
	// TooBig says why no node of the provider has room for a remote pod; see decide.Inputs.
	TooBig func(ctx context.Context, remote *corev1.Pod) (why string, ever bool)
	// NewNode says whether a new node of the provider may help a remote pod; see decide.Inputs.
	NewNode func(ctx context.Context, remote *corev1.Pod, group field.Group) (declined string, none bool)
	// Own returns a function that reports whether an address belongs to the consumer.
	Own func(context.Context) (func(netip.Addr) bool, error)
	// Maps reports whether any ClusterBinding maps the given class of the consumer.
	Maps  func(ctx context.Context, kind v1alpha1.ClassKind, name string) bool
	Clock clock.PassiveClock
	// ClockSkew returns how far the provider's clock is ahead of Clock, at least. Negative means behind.
	ClockSkew func() time.Duration
}

// Observe reads what a decision about a local object depends on. record is what is remembered about the object,
// and made is what the reconcile has already done.
func (o *Observer[T]) Observe(ctx context.Context, key types.NamespacedName, record attempts.Record, made []decide.AppliedAction) (s decide.ObjectState[T], err error) {
	namespaces := o.Mapping()
	s = decide.ObjectState[T]{
		Key: key, ClusterID: o.ClusterID, Now: o.Clock.Now(), ClockSkew: o.ClockSkew(), Reach: namespaces.Reach(), Inputs: o.inputs(ctx, namespaces),
	}
	s.WaitingFor, s.Waiting = record.Waiting(s.Now)
	if s.Local, s.Known, err = o.Locals.Get(ctx, key); err != nil {
		return s, err
	}
	if o.Kind.Selection.Copies() && s.Known {
		s.Local = answered(s.Local, made)
	}
	s.Alone = decide.Present(s.Local) && o.Alone != nil && o.Alone(s.Local)
	if err := o.findRemoteStates(ctx, &s, namespaces); err != nil || !decide.Present(s.Local) {
		return s, err
	}
	attempts.Recall(&s, o.Kind, record.Refusals)
	s.SendBackoff = o.Sent.Wait(key.Namespace)
	s.Lost = record.Lost == s.Local.GetUID()
	s.Unanswered = !decide.Present(s.RemoteStates[0].Remote) && record.Unanswered == s.Local.GetUID()
	if o.Kind.Counts != nil {
		if s.Counted, err = o.counted(ctx, s); err != nil {
			return s, err
		}
	}
	if o.Kind.Needs == nil || !s.Known {
		return s, nil
	}
	return s, o.needs(ctx, &s)
}

// inputs returns what decisions about all objects depend on.
func (o *Observer[T]) inputs(ctx context.Context, namespaces *mapping.Mapping) decide.Inputs {
	return decide.Inputs{
		TargetFor: func(namespace string) field.Target { return namespaces.Destination(namespace).Target },
		Limits:    o.Limits(), Classes: field.Classes(namespaces.Binding().Spec.Classes), Has: o.Has,
		Hosts: namespaces.Binding().Spec.Hosts, Accounts: field.Accounts(namespaces.Binding().Spec.ServiceAccounts),
		Maps:     func(kind v1alpha1.ClassKind, name string) bool { return o.Maps(ctx, kind, name) },
		Provides: o.Alone != nil,
		Volume:   func(name string) (*corev1.PersistentVolume, bool) { return o.Volume(ctx, name) },
		Waiting:  func(namespace string) []corev1.Pod { return o.Waiting(ctx, namespace) },
		API:      apiOf(o.Tokens, namespaces), Peers: o.Peers, Node: v1alpha1.VirtualNodePrefix + o.ClusterID, Groups: known(o.Groups),
		Own:    func() (func(netip.Addr) bool, error) { return o.Own(ctx) },
		Tier:   func(namespace string) int { return mapping.Tier(namespaces, namespace) },
		TooBig: func(remote *corev1.Pod) (why string, ever bool) { return o.TooBig(ctx, remote) },
		NewNode: func(remote *corev1.Pod, group field.Group) (declined string, none bool) {
			return o.NewNode(ctx, remote, group)
		},
		NodesHave: func(remote *corev1.Pod, key string) (some, all, known bool) { return o.NodesHave(ctx, remote, key) },
		Here: func(namespace string) ([]corev1.Pod, bool) {
			var pods corev1.PodList
			err := o.Pods.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
			return pods.Items, err == nil
		},
	}
}

// known returns the groups of the provider's virtual nodes.
func known(groups func() map[string]field.Group) map[string]field.Group {
	if groups == nil {
		return nil
	}
	return groups()
}

// apiOf says which pods use the consumer's API. Without a controller that gives them tokens, none does.
func apiOf(tokens func() Tokens, namespaces *mapping.Mapping) field.ConsumerAPI {
	if tokens == nil || tokens() == nil {
		return field.ConsumerAPI{}
	}
	return mapping.API(namespaces)
}

// counted counts the pods that count for an object in the remote namespace that it goes to. It leaves out pods
// that were sent to the mount namespace before their namespace was offloaded.
func (o *Observer[T]) counted(ctx context.Context, s decide.ObjectState[T]) (n int, err error) {
	var pods corev1.PodList
	err = o.Pods.List(ctx, &pods, client.InNamespace(s.Key.Namespace), client.UnsafeDisableDeepCopy)
	counts := o.Kind.Counts(s.Local)
	for i := range pods.Items {
		if provenance.RemoteOf(&pods.Items[i]).Namespace == s.RemoteStates[0].Destination.Namespace && counts(&pods.Items[i]) {
			n++
		}
	}
	return n, err
}

// Destinations lists where an object of the kind is, or goes. If all pods of a namespace have one destination, it
// reads none of them: there may be many.
func (o *Observer[T]) Destinations(ctx context.Context, key types.NamespacedName) ([]decide.Destination, error) {
	namespaces := o.Mapping()
	if waits, err := awaits(ctx, o, key, namespaces); waits || err != nil {
		return nil, err
	}
	alternatives := namespaces.Destinations(key.Namespace)
	switch {
	case !o.Kind.Selection.Copies() && len(alternatives) == 1:
		return alternatives, nil
	case o.Kind.Selection.Copies() && o.Kind.For == nil:
		places, _, err := o.wanted(ctx, key, namespaces)
		return places, err
	}
	s := decide.ObjectState[T]{Key: key}
	var err error
	if s.Local, s.Known, err = o.Locals.Get(ctx, key); err != nil {
		return nil, err
	}
	if err := o.findRemoteStates(ctx, &s, namespaces); err != nil {
		return nil, err
	}
	return []decide.Destination{s.RemoteStates[0].Destination}, nil
}

// awaits reports whether it is still unknown whether an object that is not in the provider will be sent. Such
// an object has no destination yet.
func awaits[T client.Object](ctx context.Context, o *Observer[T], key types.NamespacedName, namespaces *mapping.Mapping) (bool, error) {
	if o.Kind.Accepts == nil || len(namespaces.Binding().Spec.Classes) == 0 {
		return false, nil
	}
	local, known, err := o.Locals.Get(ctx, key)
	if err != nil || !known {
		return false, err
	}
	if _, decided := o.Kind.Accepts(local, o.inputs(ctx, namespaces)); decided {
		return false, nil
	}
	remotes, err := o.Remotes.RemotesFor(ctx, key, namespaces.Destinations(key.Namespace))
	return len(remotes) == 0, err
}

// wanted returns the destinations where copies should be. For an object without one, it returns the RemoteState to
// use instead.
func (o *Observer[T]) wanted(ctx context.Context, key types.NamespacedName, namespaces *mapping.Mapping) (places []decide.Destination, otherwise decide.RemoteState[T], err error) {
	if o.Kind.Selection == kind.InMappedNamespace {
		place, wanted := namespaces.Mapped(key.Namespace, o.Kind.Resource)
		if wanted = wanted && (o.Kind.Never == nil || !o.Kind.Never(key)); wanted && place.Open {
			places = append(places, place)
		}
		return places, decide.RemoteState[T]{Destination: place, Wanted: wanted}, nil
	}
	near, used, err := o.Uses.Destinations(ctx, o.key(key))
	if alone, err := isAlone(ctx, o, key); err != nil {
		return nil, otherwise, err
	} else if alone {
		near = append(near, namespaces.Destination(key.Namespace))
	}
	for _, place := range near {
		if place = namespaces.Resolve(place, key.Namespace); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, func(a, b decide.Destination) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Local, b.Local))
	})
	if used { // The objects that need it are leaving, and may still use it.
		return places, decide.RemoteState[T]{Destination: decide.Destination{Problem: decide.NotSynced(o.Kind.Title(), key)}, Wanted: true}, err
	}
	return places, decide.RemoteState[T]{Destination: namespaces.Destination(key.Namespace)}, err
}

// isAlone reports whether the object of that name is sent although nothing needs it.
func isAlone[T client.Object](ctx context.Context, o *Observer[T], key types.NamespacedName) (bool, error) {
	if o.Alone == nil {
		return false, nil
	}
	local, _, err := o.Locals.Get(ctx, key)
	return err == nil && decide.Present(local) && o.Alone(local), err
}

// needs finds out which needed objects are ready at the destinations where the object is not yet. Where a pod
// already is, it finds out which of them are out of date.
func (o *Observer[T]) needs(ctx context.Context, s *decide.ObjectState[T]) (err error) {
	refs := o.Kind.Needs(s.Local)
	if o.Kind.Provided != nil {
		refs = slices.DeleteFunc(refs, func(ref decide.Ref) bool { return o.Kind.Provided(s.Local, ref.Key, s.Inputs) })
	}
	for i := range s.RemoteStates {
		site := &s.RemoteStates[i]
		switch {
		case !decide.Present(site.Remote):
			if site.Needs, err = o.Uses.Needs(ctx, o.key(s.Key), refs, site.Destination); err != nil {
				return err
			}
		case !o.Kind.Selection.Copies() && o.Uses.AnyRefused():
			site.Outdated = o.Uses.Outdated(refs, site.Destination)
		}
	}
	if o.Kind.Selection.Copies() || decide.Present(s.RemoteStates[0].Remote) {
		return nil
	}
	return o.firstNeeds(ctx, s, &s.RemoteStates[0])
}

// firstNeeds adds what a new pod needs besides the objects that it names.
func (o *Observer[T]) firstNeeds(ctx context.Context, s *decide.ObjectState[T], site *decide.RemoteState[T]) error {
	if pod, ok := any(s.Local).(*corev1.Pod); ok && pod.DeletionTimestamp.IsZero() && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
		before, err := o.Uses.Before(ctx, pod)
		if err != nil {
			return err
		}
		for i := range before { // Many pods may wait for many objects: the first object that is not ready is enough.
			need, err := o.Uses.Needs(ctx, o.key(s.Key), before[i:i+1], site.Destination)
			if err != nil {
				return err
			}
			if site.Needs = append(site.Needs, need...); site.Unready() != nil {
				break
			}
		}
	}
	if !site.Destination.Open {
		return nil
	}
	if err := o.namespace(ctx, site); err != nil {
		return err
	}
	return addTokens(ctx, o, s, site)
}

// key names an object of the kind.
func (o *Observer[T]) key(name types.NamespacedName) decide.Key {
	return decide.Key{Kind: o.Kind.Name, NamespacedName: name}
}

// namespace adds the remote pod's namespace, which owns it. The NamespaceMap may have the namespace before the
// cache does.
func (o *Observer[T]) namespace(ctx context.Context, site *decide.RemoteState[T]) (err error) {
	name := site.Destination.Namespace
	site.NamespaceUID, err = o.Namespace(ctx, name)
	site.Needs = append(site.Needs, decide.Need{
		Kind: "namespace", NamespacedName: types.NamespacedName{Name: name}, Ready: site.NamespaceUID != "",
		Problem: field.Problemf(v1alpha1.ReasonNamespaceNotReady, "namespace %s of provider %s is not visible yet", name, o.ClusterID),
	})
	return err
}

// IsStale reports whether this process has written something that the caches do not show yet.
func (o *Observer[T]) IsStale(s decide.ObjectState[T]) bool {
	return o.Locals.IsStale(s.Key) || slices.ContainsFunc(s.RemoteStates, func(site decide.RemoteState[T]) bool {
		return o.Remotes.IsStale(o.Kind.RemoteName(site.Destination.Target, s.Key))
	})
}

// Referers lists the objects of the kind that need another one in the provider. It leaves out an object that
// Kind.Accepts keeps in the consumer, unless it is already in the provider. When that ends, the change of the
// object or of its copy enqueues what it needs. It also leaves out an object for which the provider itself has the
// other one, and an object that goes with its namespace, if the namespace is not in the provider.
func (o *Observer[T]) Referers(ctx context.Context, of decide.Key) ([]types.NamespacedName, error) {
	keys, err := o.Locals.Needing(ctx, of)
	if o.Kind.Accepts == nil && o.Kind.Provided == nil || err != nil {
		return keys, err
	}
	namespaces := o.Mapping()
	around := o.inputs(ctx, namespaces)
	var needing []types.NamespacedName
	for _, key := range keys {
		if o.Kind.Selection == kind.InMappedNamespace && !mapping.MayBeInUse(namespaces, key.Namespace, o.Kind.Resource) {
			continue
		}
		local, known, err := o.Locals.Get(ctx, key)
		if err != nil {
			return nil, err
		}
		out := false
		if known {
			out, err = leftOut(ctx, o, local, of, namespaces, around)
		}
		if err != nil {
			return nil, err
		}
		if !out {
			needing = append(needing, key)
		}
	}
	return needing, nil
}

// leftOut reports whether the provider itself has what a local object needs, or whether the object is refused and
// not in the provider either.
func leftOut[T decide.Object](ctx context.Context, o *Observer[T], local T, of decide.Key, namespaces *mapping.Mapping, around decide.Inputs) (bool, error) {
	if o.Kind.Provided != nil && o.Kind.Provided(local, of, around) {
		return true, nil
	}
	if o.Kind.Accepts == nil || !o.Kind.Refuses(local, around) {
		return false, nil
	}
	remotes, err := o.Remotes.RemotesFor(ctx, client.ObjectKeyFromObject(local), namespaces.Destinations(local.GetNamespace()))
	return len(remotes) == 0, err
}

// answered returns the local object from the consumer's last answer in this reconcile, which has its content.
// If the one from the cache is newer, it returns that.
func answered[T client.Object](seen T, made []decide.AppliedAction) T {
	for _, before := range slices.Backward(made) {
		whole, ok := before.Response.(T)
		if ok && before.Side == decide.Local && whole.GetUID() == seen.GetUID() && !ownwrites.Older(whole, seen) {
			return whole
		}
	}
	return seen
}
