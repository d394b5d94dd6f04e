package decide

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/translate"
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
func Assess[T Object](s Subject[T], syncer Syncer[T], ref Ref, title, in string, lack connection.Lack) (Need, Plan) {
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
		need.Problem = usedElsewhere(title, ref.NamespacedName, at.Place.Namespace, in)
		return need, Plan{}
	}
	plan := here(at, syncer)
	if len(s.Strays) > 0 {
		plan = Next(s, syncer)
	}
	switch {
	case plan.Problem != nil:
		need.Ready = ref.isLeftOut(at.Place, plan.Problem)
		need.Problem = plan.Problem.Of(title, ref.NamespacedName)
	case withheld(s.Local):
		need.Ready = ref.Optional
		need.Problem = never(title, ref.NamespacedName)
	case at.Wanted && !Present(at.Remote) && !at.Place.Open: // Nothing of its namespace is sent, so this object never will be.
		need.Problem = at.Place.Problem.Of(title, ref.NamespacedName)
	case !Present(at.Remote) || len(plan.Actions) > 0:
		need.Problem = NotSynced(title, ref.NamespacedName)
	default:
		need.Ready = true
	}
	return need, plan
}

// in returns the snapshot in a namespace of the provider. If no copy should be in that namespace, it returns
// the snapshot at the first site. elsewhere then reports that the copy should be at the first site.
func (s Subject[T]) in(namespace string) (at Snapshot[T], elsewhere bool) {
	i := slices.IndexFunc(s.Sites, func(site Site[T]) bool { return site.Wanted && site.Place.Namespace == namespace })
	at = s.At(max(i, 0))
	return at, i < 0 && at.Wanted && at.Place.Namespace != ""
}

// AssessPreceding is Assess for an object that must be in the provider, and up to date, before a pod is sent
// there. If the object should not be in the provider, its copy must be gone first.
func AssessPreceding[T Object](s Subject[T], syncer Syncer[T], ref Ref, title, in string, lack connection.Lack) (Need, Plan) {
	switch {
	case !Present(s.Local) || !s.Sites[0].Wanted || withheld(s.Local):
		isLeft := func(site Site[T]) bool { return Present(site.Remote) && site.Remote.GetNamespace() == in }
		need := Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName, Ready: !slices.ContainsFunc(s.Sites, isLeft)}
		need.Problem = field.Problemf(v1alpha1.ReasonNetworkPolicyPending, "%s %s is no longer sent, but the remote object is not deleted yet", title, field.Location(ref.NamespacedName))
		if lack.Reason != "" {
			need.Problem.Message += fmt.Sprintf("; provider %s %s, so its administrator must delete it there", s.ClusterID, lack.What)
		}
		return need, Plan{}
	case s.Sites[0].Place.Namespace != in:
		return Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName, Ready: true}, Plan{}
	}
	need, plan := Assess(s, syncer, ref, title, in, lack)
	need.Problem.Reason = v1alpha1.ReasonNetworkPolicyPending
	return need, plan
}

// isLeftOut reports whether a pod at a place starts without the object, because the object is optional and
// the problem may last. A pod waits for an object that is being sent.
func (r Ref) isLeftOut(at Place, p *field.Problem) bool {
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
	return field.Problemf(translate.ReasonSyncNever, "%s %s has %s=%s, so it is not sent to any provider",
		kind, field.Location(name), v1alpha1.LabelSync, v1alpha1.SyncNever)
}

// NotSynced is the problem for objects that are not in the provider yet.
func NotSynced(kind string, name types.NamespacedName) field.Problem {
	return field.Problemf(v1alpha1.ReasonReferenceNotSynced, "%s %s is being sent to the provider", kind, field.Location(name))
}

// unreadable is the problem for objects of a kind that cannot be read in the provider.
func unreadable(kind string, name types.NamespacedName, clusterID string, lack connection.Lack) field.Problem {
	return field.Problemf(lack.Reason, "%s %s cannot be sent: provider %s %s", kind, field.Location(name), clusterID, lack.What)
}

// usedElsewhere is the problem for objects that can be in only one place at a time, and are in another place.
func usedElsewhere(kind string, name types.NamespacedName, there, in string) field.Problem {
	return field.Problemf(v1alpha1.ReasonReferenceNotSynced,
		"%s %s is used by pods in namespace %s of the provider; it moves to namespace %s when they end", kind, field.Location(name), there, in)
}

// withheld reports whether the owner of an object says not to send it.
func withheld(obj Object) bool {
	return obj.GetAnnotations()[v1alpha1.LabelSync] == v1alpha1.SyncNever || obj.GetLabels()[v1alpha1.LabelSync] == v1alpha1.SyncNever
}
