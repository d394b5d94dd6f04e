package decide

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Translation is what differs between the kinds of copied objects. It is pure.
type Translation[T Object] interface {
	// RemoteName returns the name of the copy.
	RemoteName(t field.Target, local types.NamespacedName) types.NamespacedName
	// Remote returns the copy, or why there is none.
	Remote(local T, t field.Target, around Inputs) (T, *field.Problem)
	// Merge returns remote with the changes that desired, the copy as it would be created now, asks for.
	// replace reports that an update cannot make these changes.
	Merge(desired, remote T) (merged T, replace bool)
}

// Inputs is what a copy may depend on besides its object.
type Inputs struct {
	// Now is the time.
	Now time.Time
	// TargetFor returns where the objects of another local namespace go, for an object that names one of
	// them.
	TargetFor func(namespace string) field.Target
	// Limits are what the provider allows.
	Limits *field.Limits
	// Classes maps the consumer's class names to the provider's.
	Classes field.Classes
	// Accounts maps the consumer's ServiceAccounts to the provider's.
	Accounts field.Accounts
	// Has reports whether the provider has a class; nil: unknown for all classes.
	Has field.Has
	// Hosts are the hosts that the ClusterBinding allows for Ingresses and routes.
	Hosts field.HostPatterns
	// Maps reports whether any ClusterBinding maps one of the consumer's classes.
	Maps func(kind v1alpha1.ClassKind, name string) bool
	// NodesHave reports whether some node of the provider that a remote pod selects has a label, and whether all of
	// them have it that take the pod. If known is false, the nodes cannot be read, or there are none.
	NodesHave func(remote *corev1.Pod, key string) (some, all, known bool)
	// Here returns the pods of a local namespace that are on the provider's virtual node. They are shared, and must
	// not be changed. If known is false, they cannot be read.
	Here func(namespace string) (pods []corev1.Pod, known bool)
	// Peers returns the local namespaces that NetworkPolicies and pods can name in the provider. They are
	// shared, and must not be changed.
	Peers func() []PeerNamespace
	// Tier returns which tier of a local namespace the provider is; nil: the first of all.
	Tier func(namespace string) int
	// Node is the name of the provider's virtual node without a group.
	Node string
	// Groups are the groups of the provider's virtual nodes, by the name of the node. It is shared, and must not be
	// changed.
	Groups map[string]field.Group
	// Own returns a function that reports whether an address is one of the consumer's own.
	Own func() (func(netip.Addr) bool, error)
	// Provides reports whether the provider creates volumes (engine.Engine.Provides).
	Provides bool
	// Volume returns the consumer's PersistentVolume of that name, or nil if the provider's label is not on it. If
	// known is false, the volumes cannot be read yet.
	Volume func(name string) (volume *corev1.PersistentVolume, known bool)
	// Waiting returns the consumer's pods of a namespace that have no node yet. They may lack fields that nobody
	// decides about before they have one.
	Waiting func(namespace string) []corev1.Pod
	// TooBig says why no node of the provider has room for a remote pod, if it is too big for each; otherwise it is
	// empty. ever: also when they are empty. Nil: unknown for all pods.
	TooBig func(remote *corev1.Pod) (why string, ever bool)
	// NewNode returns what the provider's autoscaler has said about a remote pod for which it starts no node, and whether
	// the provider has no node at all that such pods of the group may run on. Both are empty for a provider that does not
	// grow. Nil: unknown for all pods.
	NewNode func(remote *corev1.Pod, group field.Group) (declined string, none bool)
	// API says which pods use the consumer's API from the provider, and where they reach it.
	API field.ConsumerAPI
	// Counted is the number of pods that count for the object (kind.Kind.Counts), among those in its remote
	// namespace.
	Counted int
}

// copies is the Syncer of the kinds whose objects are copied because something needs them.
type copies[T Object] struct {
	FromConsumer[T]
	Translation[T]
	fresh func() T
}

// NewCopies returns the Syncer of a kind whose objects are copied because something needs
// them. fresh returns an empty object.
func NewCopies[T Object](t Translation[T], fresh func() T) Syncer[T] {
	return copies[T]{Translation: t, fresh: fresh}
}

// SyncToRemote protects the local object, then creates the copy. The API server answers the patch with the
// complete object, so usually no extra read is needed.
func (c copies[T]) SyncToRemote(s Snapshot[T]) Plan {
	if sparing, ok := c.Translation.(Sparing[T]); ok && sparing.Spares(s.Local, s.ClusterID) {
		return Plan{}
	}
	if plan := c.endHeld(s, s.Held); len(plan.Actions) > 0 {
		return plan
	}
	switch {
	case s.Wanted && !s.Destination.Open && !s.Destination.Leaving && s.Local.GetDeletionTimestamp().IsZero():
		return tellAlone(s, wait(s.Destination.Problem))
	case !s.toBeCopied(s.RemoteState) && len(c.destinations(s)) == 0:
		return c.leave(s)
	case !s.toBeCopied(s.RemoteState):
		return Plan{} // The copies at other destinations stay.
	case !c.isProtected(s):
		return c.protect(s)
	case !s.Known:
		return wait(field.Problem{Reason: v1alpha1.ReasonReferenceNotSynced, Message: "its content has not been read yet"})
	default:
		return c.send(s)
	}
}

// leave removes the protection of an object that is nowhere in the provider. Of an object that nothing needs, its
// owner learns why it goes nowhere.
func (c copies[T]) leave(s Snapshot[T]) Plan {
	if plan := c.unprotect(s); len(plan.Actions) > 0 || !s.Alone || !s.Local.GetDeletionTimestamp().IsZero() {
		return plan
	}
	return tellAlone(s, wait(s.Destination.Problem))
}

// send creates the remote object of a protected one.
func (c copies[T]) send(s Snapshot[T]) Plan {
	if problem := c.taken(s); problem != nil {
		return withProblemEvent(wait(*problem))
	}
	desired, refusal := desiredOf(c.Translation, s)
	if refusal != nil {
		return yield(c, s, tellAlone(s, wait(*refusal)))
	}
	return yield(c, s, tellAlone(s, create(s, desired)))
}

// tellAlone makes the problem of a plan an event, if no other object shows it.
func tellAlone[T Object](s Snapshot[T], plan Plan) Plan {
	plan.TellsProblem = s.Alone && plan.Problem != nil
	return plan
}

// create creates the desired copy, unless the provider has just refused it, or the provider lacks something
// that the copy needs.
func create[T Object](s Snapshot[T], desired T) Plan {
	if s.isRefused() {
		return Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
	}
	if need := s.Unready(); need != nil {
		return wait(need.Problem)
	}
	return act(Action{Verb: Create, Side: Remote, Object: desired})
}

// Sync updates the copy, or deletes it when nothing needs it any more.
func (c copies[T]) Sync(s Snapshot[T]) Plan {
	if plan := c.endHeld(s, s.Held); len(plan.Actions) > 0 {
		return plan
	}
	if c.holds(s.Remote) {
		return c.syncHeld(s)
	}
	if s.Wanted && !s.Destination.Open && s.Local.GetDeletionTimestamp().IsZero() {
		return Plan{} // Remote pods still use it, whatever happens to the namespace.
	}
	if !s.toBeCopied(s.RemoteState) {
		return act(cleanUp([]T{s.Remote})...)
	}
	if !s.Remote.GetDeletionTimestamp().IsZero() {
		return wait(field.Problem{Reason: v1alpha1.ReasonReplacing, Message: "the remote object is being deleted; Spillway recreates it when it is gone"})
	}
	if !c.isProtected(s) {
		return c.protect(s)
	}
	if !s.Known {
		return Plan{}
	}
	desired, refusal := desiredOf(c.Translation, s)
	if refusal != nil {
		return wait(*refusal)
	}
	return correct(c.Translation, s, desired)
}

// correct updates the copy to the desired one.
func correct[T Object](t Translation[T], s Snapshot[T], desired T) Plan {
	merged, replace := t.Merge(desired, s.Remote)
	switch {
	case replace:
		return act(cleanUp([]T{s.Remote})...)
	case equality.Semantic.DeepEqual(merged, s.Remote):
		return Plan{}
	case s.isRefused():
		return Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
	default:
		return act(Action{Verb: Patch, Side: Remote, Object: merged, Before: s.Remote, Locked: true})
	}
}

// isRefused reports whether a request for the copy was refused and may not be retried yet. If the consumer
// refuses the status that a copy reports, that does not hold up the copy.
func (s Snapshot[T]) isRefused() bool {
	return s.Refused != nil && s.Refused.Wait > 0 && s.Refused.Verb != PatchStatus
}

// desiredOf returns the desired copy, or why there is none. It leaves out labels and annotations that the
// provider's limits do not allow. A refusal may come with a copy: see Keeping.
func desiredOf[T Object](t Translation[T], s Snapshot[T]) (T, *field.Problem) {
	desired, refusal := t.Remote(s.Local, s.Destination.Target, s.inputs())
	switch {
	case !Present(desired):
	case Present(s.Remote):
		s.Limits.Withhold(desired, s.Remote)
	default:
		s.Limits.Withhold(desired, nil)
	}
	return desired, refusal
}

// toBeCopied reports whether there should be a copy at a destination.
func (s ObjectState[T]) toBeCopied(site RemoteState[T]) bool {
	return site.Wanted && site.Destination.Open && s.Local.GetDeletionTimestamp().IsZero() && !withheld(s.Local)
}

// isProtected reports whether the local object is protected, with all locations of its copies.
func (c copies[T]) isProtected(s Snapshot[T]) bool {
	return isProtectedAt(s.Local, s.ClusterID, c.destinations(s))
}

// destinations returns the locations of all copies that exist, or should exist.
func (c copies[T]) destinations(s Snapshot[T]) []string {
	var all []string
	for _, site := range s.RemoteStates {
		switch {
		case Present(site.Remote):
			all = append(all, field.Location(KeyOf(site.Remote)))
		case s.toBeCopied(site):
			all = append(all, field.Location(c.RemoteName(site.Destination.Target, s.Key)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// inputs returns what a copy may depend on besides its object.
func (s Snapshot[T]) inputs() Inputs {
	around := s.Inputs
	around.Now, around.TargetFor = s.Now, s.targetOf
	return around
}

// targetOf returns where the objects of a local namespace go. If it is the object's own namespace, they go to
// the same destination as the object.
func (s Snapshot[T]) targetOf(namespace string) field.Target {
	if namespace == s.Destination.Local {
		return s.Destination.Target
	}
	return s.TargetFor(namespace)
}

// protect protects the local object, unless the consumer has just refused that. For example, a webhook of the
// consumer may add changes that the consumer's policies do not allow.
func (c copies[T]) protect(s Snapshot[T]) Plan {
	if s.Refused != nil && s.Refused.Verb == Patch && s.Refused.In == "" && s.Refused.Wait > 0 {
		return Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
	}
	before, after := c.metadata(s.Local), c.metadata(s.Local)
	protect(after, s.ClusterID, c.destinations(s))
	return act(Action{Verb: Patch, Side: Local, Object: after, Before: before})
}

// unprotect removes the protection when no copy is left.
func (c copies[T]) unprotect(s Snapshot[T]) Plan {
	before, after := c.metadata(s.Local), c.metadata(s.Local)
	if !Unprotect(after, s.ClusterID) {
		return Plan{}
	}
	return act(Action{Verb: Patch, Side: Local, Object: after, Before: before})
}

// metadata returns an object that has only local's metadata. So a patch between two of them needs no content.
func (c copies[T]) metadata(local T) T {
	obj := c.fresh()
	CopyMetadata(obj, local)
	return obj
}
