package bind

import (
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	hosted "github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// retryAccess is how long to wait after access to the cluster was refused.
const retryAccess = time.Minute

// Seen is what there is to decide on.
type Seen struct {
	// Owner is the UID of the HostedCluster.
	Owner types.UID
	// Wanted is the ClusterBinding as spec.binding has it, with nothing but what is ours in
	// it; nil: there is to be none.
	Wanted *v1alpha1.ClusterBinding
	// Manifests is the digest of what a provider needs.
	Manifests string
	// Binding and Secret are those of that name, or nil.
	Binding *v1alpha1.ClusterBinding
	Secret  *corev1.Secret
	// Gone is set if the cloud says that the cluster is no longer there: what is in it cannot
	// be taken back.
	Gone bool
	// Keep is set if nothing but the token may be renewed.
	Keep bool
	Now  time.Time
}

// Step is what to do next; each is safe to repeat.
type Step string

// The steps.
const (
	// Wait for the time to renew the token, or for a deletion.
	Wait Step = "Wait"
	// Renew the token, and prepare the cluster first if it is not.
	Renew Step = "Renew"
	// Put the ClusterBinding, or correct what is ours of it.
	Put Step = "Put"
	// Forget what is in the cluster: the deletion of the ClusterBinding must not wait for it.
	Forget Step = "Forget"
	// Delete the ClusterBinding, which takes back what was sent.
	Delete Step = "Delete"
	// DeleteSecret deletes the Secret, which nothing needs any more.
	DeleteSecret Step = "DeleteSecret"
	// Done: nothing of ours is left.
	Done Step = "Done"
)

// Plan is the next step.
type Plan struct {
	Step Step
	// Bound is the condition while Wait is the step; nil if there is none.
	Bound *metav1.Condition
	// Again is when to decide again at the latest; zero: with the next read.
	Again time.Duration
}

// Decide names the next step. A token comes before the ClusterBinding that needs it, and
// stays, renewed, until the ClusterBinding has gone: taking back needs it too.
func Decide(s Seen) Plan {
	switch {
	case s.Keep:
		return s.keep()
	case s.Wanted == nil:
		return s.unbind()
	case s.Binding != nil && !s.ours(s.Binding):
		return s.taken("ClusterBinding", s.Binding)
	case s.Secret != nil && !s.ours(s.Secret):
		return s.taken("Secret", s.Secret)
	case s.renewIn() <= 0:
		return Plan{Step: Renew}
	case s.Binding != nil && !s.Binding.DeletionTimestamp.IsZero():
		return s.leaving()
	case s.Binding != nil && s.Binding.Spec.ClusterID != s.Wanted.Spec.ClusterID:
		return Plan{Step: Delete} // It cannot be changed; it was removed, and added again.
	case s.Binding == nil || !s.asWanted():
		return Plan{Step: Put}
	default:
		return s.isBound()
	}
}

func (s Seen) isBound() Plan {
	return Plan{Step: Wait, Bound: bound(metav1.ConditionTrue, hosted.ReasonBound, "ClusterBinding "+s.Binding.Name), Again: s.renewIn()}
}

// keep renews the token of a ClusterBinding that is there. A Secret that somebody has deleted
// is not made again: it knew where the cluster was.
func (s Seen) keep() Plan {
	switch {
	case s.Binding != nil && !s.ours(s.Binding):
		return s.taken("ClusterBinding", s.Binding)
	case s.Binding == nil:
		return noAccess(errNoBinding)
	case s.Secret == nil || !s.ours(s.Secret):
		return noAccess(errNoSecret)
	case s.renewIn() <= 0:
		return Plan{Step: Renew}
	case !s.Binding.DeletionTimestamp.IsZero():
		return s.leaving()
	default:
		return s.isBound()
	}
}

// What is not made while a token is only renewed.
var (
	errNoBinding = errors.New("there is no ClusterBinding: it is made once the cluster has been read")
	errNoSecret  = errors.New("there is no Secret: it is made again once the cluster has been read")
)

// unbind forgets nothing that the manager is connected with: a cloud may have been asked for
// the cluster of another account, or project, which has none of this name.
func (s Seen) unbind() Plan {
	mine := s.Binding != nil && s.ours(s.Binding)
	gone := s.Gone && mine && !meta.IsStatusConditionTrue(s.Binding.Status.Conditions, v1alpha1.BindingConnected)
	switch {
	case gone && s.Binding.Spec.DeletionPolicy != v1alpha1.DeletionPolicyOrphan:
		return Plan{Step: Forget}
	case mine && s.Binding.DeletionTimestamp.IsZero():
		return Plan{Step: Delete}
	case mine && !gone && s.renewIn() <= 0:
		return Plan{Step: Renew}
	case mine:
		return s.leaving()
	case s.Secret != nil && s.ours(s.Secret):
		return Plan{Step: DeleteSecret}
	default:
		return Plan{Step: Done}
	}
}

func (s Seen) leaving() Plan {
	return Plan{Step: Wait, Again: s.renewIn(), Bound: bound(metav1.ConditionFalse, hosted.ReasonUnbinding,
		fmt.Sprintf("ClusterBinding %s is being deleted; see its condition Drained", s.Binding.Name))}
}

// without is the plan if there is no new token. A deletion goes on with the old one.
func (s Seen) without(err error) Plan {
	if s.Binding == nil || s.Binding.DeletionTimestamp.IsZero() {
		return noAccess(err)
	}
	plan := s.leaving()
	plan.Again = retryAccess
	plan.Bound = bound(metav1.ConditionFalse, hosted.ReasonUnbinding, plan.Bound.Message+". Its token cannot be renewed: "+err.Error())
	return plan
}

func (s Seen) taken(kind string, object metav1.Object) Plan {
	return Plan{Step: Wait, Bound: bound(metav1.ConditionFalse, hosted.ReasonNameTaken,
		fmt.Sprintf("%s %s was not made for this HostedCluster, and is left alone: delete it, or give the HostedCluster another name", kind, object.GetName()))}
}

func (s Seen) ours(object metav1.Object) bool {
	return object.GetLabels()[hosted.LabelHostedCluster] == string(s.Owner)
}

// renewIn is when the token is to be renewed; at once if there is none, if the manifests
// have changed and may be applied, or if the Secret does not say.
func (s Seen) renewIn() time.Duration {
	if s.Secret == nil || !s.ours(s.Secret) || len(s.Secret.Data[v1alpha1.DefaultKubeconfigKey]) == 0 {
		return 0
	}
	if manifests, _ := parts(s.Secret.Annotations[hosted.AnnotationPrepared]); manifests != s.Manifests && !s.Keep {
		return 0
	}
	at, err := time.Parse(time.RFC3339, s.Secret.Annotations[hosted.AnnotationRenewAt])
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(s.Now), lifetime))
}

// asWanted reports whether the ClusterBinding has all that is ours. The rest is its users'.
func (s Seen) asWanted() bool {
	after := s.Binding.DeepCopy()
	overlay(after, s.Wanted)
	return maps.Equal(after.Labels, s.Binding.Labels) && maps.Equal(after.Spec.VirtualNode.Labels, s.Binding.Spec.VirtualNode.Labels) &&
		after.Spec.KubeconfigSecretRef == s.Binding.Spec.KubeconfigSecretRef
}

// overlay puts what is ours of a ClusterBinding on another one.
func overlay(on, ours *v1alpha1.ClusterBinding) {
	on.Labels = with(on.Labels, ours.Labels)
	on.Spec.VirtualNode.Labels = with(on.Spec.VirtualNode.Labels, ours.Spec.VirtualNode.Labels)
	on.Spec.KubeconfigSecretRef = ours.Spec.KubeconfigSecretRef
}

func with[V any](on, more map[string]V) map[string]V {
	all := maps.Clone(on)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, more)
	return all
}

func bound(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
	c := conditions.New(hosted.HostedBound, status, reason, message)
	return &c
}

// noAccess is the plan after access to the cluster was refused: what is there stays as it is.
func noAccess(err error) Plan {
	return Plan{Step: Wait, Again: retryAccess, Bound: bound(metav1.ConditionFalse, hosted.ReasonNoAccess, err.Error())}
}
