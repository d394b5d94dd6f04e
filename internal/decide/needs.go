package decide

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

// Key names an object of a kind.
type Key struct {
	// Kind is the name of the kind.
	Kind string
	types.NamespacedName
	// UID tells objects of a provider apart; empty for the consumer's.
	UID types.UID
}

func (k Key) String() string { return k.Kind + "/" + k.NamespacedName.String() }

// Ref names an object that another one needs.
type Ref struct {
	Key
	// Optional: it need not exist.
	Optional bool
}

// Assess decides whether a needed object can be used in a namespace of the provider,
// and what to do about the object there. title is what messages call its kind; right,
// if not empty, is the right that the provider does not give.
func Assess[T Object](s Snapshot[T], syncer Syncer[T], ref Ref, title, in, right string) (Need, Plan) {
	need := Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName}
	switch {
	case !Present(s.Local):
		need.Ready = ref.Optional
		need.Problem = missing(title, ref.NamespacedName)
		return need, Plan{}
	case right != "":
		need.Ready = ref.Optional
		need.Problem = noRight(title, ref.NamespacedName, s.ClusterID, right)
		return need, Plan{}
	}
	if i := slices.IndexFunc(s.Sites, func(site Site[T]) bool { return site.Place.Namespace == in }); i >= 0 {
		s = s.at(s.Sites[i])
	} else if len(s.Sites) > 0 {
		need.Problem = usedElsewhere(title, ref.NamespacedName, s.Place.Namespace, in)
		return need, Plan{}
	}
	plan := Next(s, syncer)
	if len(s.Strays) == 0 {
		plan = Here(s, syncer)
	}
	switch {
	case plan.Problem != nil:
		need.Ready = ref.isLeftOut(s.Place, plan.Problem)
		need.Problem = plan.Problem.Of(title, ref.NamespacedName)
	case withheld(s.Local):
		need.Ready = ref.Optional
		need.Problem = never(title, ref.NamespacedName)
	case s.Wanted && !Present(s.Remote) && !s.Place.Open: // Nothing in its namespace is sent, so this never will be.
		need.Problem = s.Place.Problem.Of(title, ref.NamespacedName)
	case !Present(s.Remote) || len(plan.Actions) > 0:
		need.Problem = NotSynced(title, ref.NamespacedName)
	default:
		need.Ready = true
	}
	return need, plan
}

// AssessPreceding is Assess for an object that has to be in the provider, as it is here,
// before a pod is sent there. If it is not meant to be there, a copy has to be gone.
func AssessPreceding[T Object](s Snapshot[T], syncer Syncer[T], ref Ref, title, in, right string) (Need, Plan) {
	switch {
	case !Present(s.Local) || !s.Wanted || withheld(s.Local):
		need := Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName, Ready: !Present(s.Remote) || s.Remote.GetNamespace() != in}
		need.Problem = Problemf(v1alpha1.ReasonNetworkPolicyPending, "%s %s is not to be in the provider any more, and its copy is not gone yet", title, Location(ref.NamespacedName))
		if right != "" {
			need.Problem.Message += fmt.Sprintf("; provider %s gives no right to %s, so its administrator has to delete it there", s.ClusterID, right)
		}
		return need, Plan{}
	case s.Place.Namespace != in:
		return Need{Kind: ref.Kind, NamespacedName: ref.NamespacedName, Ready: true}, Plan{}
	}
	need, plan := Assess(s, syncer, ref, title, in, right)
	need.Problem.Reason = v1alpha1.ReasonNetworkPolicyPending
	return need, plan
}

// isLeftOut reports whether what needs an object at a place goes without it: it is
// optional, and the problem may last. What is under way is waited for.
func (r Ref) isLeftOut(at Place, p *Problem) bool {
	return r.Optional && at.Open && p.Reason != v1alpha1.ReasonReferenceNotSynced && p.Reason != v1alpha1.ReasonReplacing
}

// Of names the object that a problem is about.
func (p Problem) Of(title string, name types.NamespacedName) Problem {
	return Problemf(p.Reason, "%s %s: %s", title, Location(name), p.Message)
}

// missing reports objects that do not exist or are never watched, such as tokens.
func missing(kind string, name types.NamespacedName) Problem {
	message := fmt.Sprintf("%s %s does not exist", kind, Location(name))
	if kind == "Secret" {
		message += ", or is a token of the consumer, which is never sent"
	}
	return Problem{v1alpha1.ReasonReferenceNotFound, message}
}

// never has its own reason: what is merely not sent yet will be soon, without anybody's
// help.
func never(kind string, name types.NamespacedName) Problem {
	return Problemf(translate.ReasonSyncNever, "%s %s has %s=%s, so it is not sent to any provider",
		kind, Location(name), v1alpha1.LabelSync, v1alpha1.SyncNever)
}

// NotSynced reports objects that are not in the provider yet.
func NotSynced(kind string, name types.NamespacedName) Problem {
	return Problemf(v1alpha1.ReasonReferenceNotSynced, "%s %s is being sent to the provider", kind, Location(name))
}

// noRight reports objects that cannot be sent because the provider does not let us read
// them.
func noRight(kind string, name types.NamespacedName, clusterID, right string) Problem {
	return Problemf(v1alpha1.ReasonRightsMissing,
		"%s %s cannot be sent: provider %s gives no right to %s", kind, Location(name), clusterID, right)
}

// usedElsewhere reports objects that can be in one place at a time, and are in another.
func usedElsewhere(kind string, name types.NamespacedName, there, in string) Problem {
	return Problemf(v1alpha1.ReasonReferenceNotSynced,
		"%s %s is used by pods in namespace %s of the provider; it goes to namespace %s when they have ended", kind, Location(name), there, in)
}

// withheld reports whether an object's owner says not to send it.
func withheld(obj Object) bool {
	return obj.GetAnnotations()[v1alpha1.LabelSync] == v1alpha1.SyncNever || obj.GetLabels()[v1alpha1.LabelSync] == v1alpha1.SyncNever
}
