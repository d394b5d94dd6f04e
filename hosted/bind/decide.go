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

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// retryAccess is how long to wait after the cluster or the cloud refused access.
const retryAccess = time.Minute

// Seen is what was observed.
type Seen struct {
	// Owner is the UID of the HostedCluster.
	Owner types.UID
	// Wanted is the ClusterBinding that spec.binding asks for, with only the fields that we own. Nil: there should
	// be none.
	Wanted *v1alpha1.ClusterBinding
	// Manifests is the digest of a provider's manifests.
	Manifests string
	// Binding and Secret are the objects of these names, or nil.
	Binding *v1alpha1.ClusterBinding
	Secret  *corev1.Secret
	// Gone says that the cluster no longer exists in the cloud, so nothing in it can be deleted.
	Gone bool
	// Keep says that only the token may be renewed.
	Keep bool
	Now  time.Time
}

// Step is the next step. Each is safe to repeat.
type Step string

// The steps.
const (
	// Wait until the token must be renewed, or a deletion is done.
	Wait Step = "Wait"
	// Renew the token, and prepare the cluster first if necessary.
	Renew Step = "Renew"
	// Put creates the ClusterBinding, or corrects our fields of it.
	Put Step = "Put"
	// Forget sets the deletion policy Orphan, so that the deletion of the ClusterBinding does not wait for the
	// cluster.
	Forget Step = "Forget"
	// Delete the ClusterBinding, which removes what was sent to the cluster.
	Delete Step = "Delete"
	// DeleteSecret deletes the Secret, which nothing needs any more.
	DeleteSecret Step = "DeleteSecret"
	// Done: nothing of ours is left.
	Done Step = "Done"
)

// Plan is the next step.
type Plan struct {
	Step Step
	// Bound is the condition if the step is Wait; nil if there is none.
	Bound *metav1.Condition
	// Again is how long to wait at most until the next call. Zero: until the next read.
	Again time.Duration
}

// Decide returns the next step. The token is created before the ClusterBinding, which needs it. It is renewed
// until the ClusterBinding is gone, because the deletion needs it too.
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
		return Plan{Step: Delete} // The clusterID is immutable: spec.binding was removed, and added with another one.
	case s.Binding == nil || !s.asWanted():
		return Plan{Step: Put}
	default:
		return s.isBound()
	}
}

func (s Seen) isBound() Plan {
	return Plan{Step: Wait, Bound: bound(metav1.ConditionTrue, hosted.ReasonBound, "ClusterBinding "+s.Binding.Name), Again: s.renewIn()}
}

// keep renews the token of an existing ClusterBinding. It does not recreate a Secret that somebody has deleted,
// because only the Secret had the cluster's address.
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

// Why a token cannot be renewed on its own.
var (
	errNoBinding = errors.New("there is no ClusterBinding: it is created once the cluster has been read")
	errNoSecret  = errors.New("there is no Secret: it is recreated once the cluster has been read")
)

// unbind never forgets a cluster to which the manager is connected. The cloud may have been asked in another
// account or project, which has no cluster of this name.
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

// without returns the plan if there is no new token. A deletion continues with the old one.
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
		fmt.Sprintf("%s %s was not created for this HostedCluster, and is not changed: delete it, or give the HostedCluster another name", kind, object.GetName()))}
}

func (s Seen) ours(object metav1.Object) bool {
	return object.GetLabels()[hosted.LabelHostedCluster] == string(s.Owner)
}

// renewIn returns how long the token need not be renewed. It is zero without a usable Secret or a time on it,
// or if the manifests have changed and may be applied.
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

// asWanted reports whether the ClusterBinding has our fields as wanted. Its users own the others.
func (s Seen) asWanted() bool {
	after := s.Binding.DeepCopy()
	overlay(after, s.Wanted)
	return maps.Equal(after.Labels, s.Binding.Labels) && maps.Equal(after.Spec.VirtualNode.Labels, s.Binding.Spec.VirtualNode.Labels) &&
		after.Spec.KubeconfigSecretRef == s.Binding.Spec.KubeconfigSecretRef
}

// overlay copies our fields to another ClusterBinding.
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

// noAccess returns the plan after access to the cluster was refused. It changes nothing.
func noAccess(err error) Plan {
	return Plan{Step: Wait, Again: retryAccess, Bound: bound(metav1.ConditionFalse, hosted.ReasonNoAccess, err.Error())}
}
