package decide

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// Key names an object of a kind.
type Key struct {
	// Kind is the name of the kind.
	Kind string
	types.NamespacedName
	// UID distinguishes objects of a provider; empty for the consumer's objects.
	UID types.UID
}

func (k Key) String() string { return k.Kind + "/" + k.NamespacedName.String() }

// Ref names an object that another one needs.
type Ref struct {
	Key
	// Optional reports that the object need not exist.
	Optional bool
}

// Assess decides whether a pod in a namespace of the provider can use an object, and what to do about the
// object in that namespace. The argument title is the kind's name in messages. The argument lack is why the
// provider's objects of the kind cannot be read.
func Assess[T Object](s ObjectState[T], syncer Syncer[T], ref Ref, title, in string, lack connection.Unreadable) (Need, Plan) {
	need := Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName}
	switch {
	case !Present(s.Local):
		need.Ready = ref.Optional
		need.Problem = missing(title, ref.NamespacedName)
		return need, Plan{}
	case lack.Reason != "":
		need.Ready = ref.Optional
		need.Problem = unreadable(title, ref.NamespacedName, s.ClusterID, lack)
		return need, Plan{}
	}
	at, elsewhere := s.in(in)
	if elsewhere {
		need.Problem = usedElsewhere(title, ref.NamespacedName, at.Destination.Namespace, in)
		return need, Plan{}
	}
	plan := decideAt(at, syncer)
	if len(s.Duplicates) > 0 {
		plan = Next(s, syncer)
	}
	switch {
	case plan.Problem != nil:
		need.Ready = ref.isLeftOut(at.Destination, plan.Problem)
		need.Problem = plan.Problem.Of(title, ref.NamespacedName)
	case withheld(s.Local):
		need.Ready = ref.Optional
		need.Problem = never(title, ref.NamespacedName)
	case at.Wanted && !Present(at.Remote) && !at.Destination.Open: // Nothing of its namespace is sent, so this object never will be.
		need.Problem = at.Destination.Problem.Of(title, ref.NamespacedName)
	case !Present(at.Remote) || len(plan.Actions) > 0:
		need.Problem = NotSynced(title, ref.NamespacedName)
	default:
		need.Ready = true
	}
	return need, plan
}

// in returns the snapshot in a namespace of the provider. If no copy should be in that namespace, it returns
// the snapshot at the first destination. elsewhere then reports that the copy should be there.
func (s ObjectState[T]) in(namespace string) (at Snapshot[T], elsewhere bool) {
	i := slices.IndexFunc(s.RemoteStates, func(site RemoteState[T]) bool { return site.Wanted && site.Destination.Namespace == namespace })
	at = s.At(max(i, 0))
	return at, i < 0 && at.Wanted && at.Destination.Namespace != ""
}

// AssessPreceding is Assess for an object that must be in the provider, and up to date, before a pod is sent
// there. If the object should not be in the provider, its copy must be gone first.
func AssessPreceding[T Object](s ObjectState[T], syncer Syncer[T], ref Ref, title, in string, lack connection.Unreadable) (Need, Plan) {
	switch {
	case !Present(s.Local) || !s.RemoteStates[0].Wanted || withheld(s.Local):
		isLeft := func(site RemoteState[T]) bool { return Present(site.Remote) && site.Remote.GetNamespace() == in }
		need := Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName, Ready: !slices.ContainsFunc(s.RemoteStates, isLeft)}
		need.Problem = field.Problemf(v1alpha1.ReasonNetworkPolicyPending, "%s %s is no longer sent, but the remote object is not deleted yet", title, field.Location(ref.NamespacedName))
		if lack.Reason != "" {
			need.Problem.Message += fmt.Sprintf("; provider %s %s, so its administrator must delete it there", s.ClusterID, lack.What)
		}
		return need, Plan{}
	case s.RemoteStates[0].Destination.Namespace != in:
		return Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName, Ready: true}, Plan{}
	}
	need, plan := Assess(s, syncer, ref, title, in, lack)
	need.Problem.Reason = v1alpha1.ReasonNetworkPolicyPending
	return need, plan
}

// isLeftOut reports whether a pod at a destination starts without the object, because the object is optional and
// the problem may last. A pod waits for an object that is being sent.
func (r Ref) isLeftOut(at Destination, p *field.Problem) bool {
	return r.Optional && at.Open && p.Reason != v1alpha1.ReasonReferenceNotSynced && p.Reason != v1alpha1.ReasonReplacing
}

// missing is the problem for objects that do not exist, or that Spillway never watches, such as tokens.
func missing(kind string, name types.NamespacedName) field.Problem {
	message := fmt.Sprintf("%s %s does not exist", kind, field.Location(name))
	if kind == "Secret" {
		message += ", or is a token, which is never sent"
	}
	return field.Problem{Reason: v1alpha1.ReasonReferenceNotFound, Message: message}
}

// never is the problem for objects whose owner says not to send them. It has its own reason, because it lasts
// until the owner changes that.
func never(kind string, name types.NamespacedName) field.Problem {
	return field.Problemf(field.ReasonSyncNever, "%s %s has %s=%s, so it is not sent to any provider",
		kind, field.Location(name), v1alpha1.LabelSync, v1alpha1.SyncNever)
}

// NotSynced is the problem for objects that are not in the provider yet.
func NotSynced(kind string, name types.NamespacedName) field.Problem {
	return field.Problemf(v1alpha1.ReasonReferenceNotSynced, "%s %s is being sent to the provider", kind, field.Location(name))
}

// unreadable is the problem for objects of a kind that cannot be read in the provider.
func unreadable(kind string, name types.NamespacedName, clusterID string, lack connection.Unreadable) field.Problem {
	return field.Problemf(lack.Reason, "%s %s cannot be sent: provider %s %s", kind, field.Location(name), clusterID, lack.What)
}

// usedElsewhere is the problem for objects that can have only one destination at a time, and are at another one.
func usedElsewhere(kind string, name types.NamespacedName, there, in string) field.Problem {
	return field.Problemf(v1alpha1.ReasonReferenceNotSynced,
		"%s %s is used by pods in namespace %s of the provider; it moves to namespace %s when they end", kind, field.Location(name), there, in)
}

// withheld reports whether the owner of an object says not to send it.
func withheld(obj Object) bool {
	return obj.GetAnnotations()[v1alpha1.LabelSync] == v1alpha1.SyncNever || obj.GetLabels()[v1alpha1.LabelSync] == v1alpha1.SyncNever
}
