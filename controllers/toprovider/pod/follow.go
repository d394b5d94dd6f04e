package pod

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
)

const (
	// mostGrace limits, in seconds, the grace period that a provider may cause for a deletion in the
	// consumer, unless the pod itself asks for more.
	mostGrace = 60 * 60
	// Overdue is how long a pod that is being deleted may stay in the provider after its grace period before
	// that is reported. A kubelet needs some of that time to remove what the pod had.
	Overdue = time.Minute
)

// followRemoteDeletion decides about a live pod that the provider is deleting. If the local pod has a controller,
// it is deleted too, as when a node of the consumer is drained. The controller creates another pod at once, or
// waits until this one has ended. The local pod stays until the remote pod is gone.
//
// A pod without a controller stays, because nobody would recreate it. A pod that has ended by itself also
// stays, because of its exit code.
//
// The status first says why, so that a Job, or another controller that looks at it later, knows.
func followRemoteDeletion(s snapshot) decide.Plan {
	if metav1.GetControllerOfNoCopy(s.Local) == nil || terminal(s.Remote) && mayEnd(s.Local) {
		return syncStatus(s, nil, false)
	}
	if s.Refused != nil && s.Refused.Verb == decide.Delete && s.Refused.Wait > 0 {
		plan := syncStatus(s, &s.Refused.Problem, false)
		plan.RetryAfter = s.Refused.Wait
		return plan
	}
	why := field.Problemf(v1alpha1.ReasonRemotePodDeleted, "provider %s is deleting pod %s/%s, so this one is deleted too, and its controller replaces it",
		s.ClusterID, s.Remote.Namespace, s.Remote.Name)
	if !terminal(s.Remote) && !isDisrupted(&s.Local.Status) {
		return disrupted(s, why)
	}
	grace := ptr.Deref(s.Remote.DeletionGracePeriodSeconds, 0)
	grace = min(grace, max(mostGrace, ptr.Deref(s.Local.Spec.TerminationGracePeriodSeconds, 0)))
	grace = max(grace, 1) // Without any, the API server would remove it while the remote pod may run.
	return decide.Plan{Event: &why, Actions: []decide.Action{{
		Verb: decide.Delete, Side: decide.Local, Object: s.Local, Grace: &grace, Locked: true,
	}}}
}

// mayEnd reports whether a pod may end by itself.
func mayEnd(local *corev1.Pod) bool {
	return local.Spec.RestartPolicy != corev1.RestartPolicyAlways || local.Spec.ActiveDeadlineSeconds != nil
}

// disrupted reports the status, and adds why the pod will be deleted.
func disrupted(s snapshot, why field.Problem) decide.Plan {
	status := statusOf(s)
	setDisrupted(&status, why, s.Now)
	return write(s, status, nil)
}

// setDisrupted adds the condition DisruptionTarget, unless it is already set: the pod's end is not its own
// fault. A Job may have a podFailurePolicy for that condition.
func setDisrupted(status *corev1.PodStatus, why field.Problem, now time.Time) {
	if isDisrupted(status) {
		return
	}
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	status.Conditions = append(status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: why.Reason, Message: text.Clean(why.Message), LastTransitionTime: metav1.NewTime(now),
	})
}

func isDisrupted(status *corev1.PodStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// cleanUpEnded decides about a pod that has ended and is not in the provider. A lost pod has no logs and no exit
// code. If it has a controller, which has created another pod, cleanUpEnded deletes it. Otherwise each drain would
// leave one more pod. A Job must count the pod first.
func cleanUpEnded(s snapshot) decide.Plan {
	local := s.Local
	if local.Status.Reason != v1alpha1.ReasonRemotePodLost || metav1.GetControllerOfNoCopy(local) == nil || slices.Contains(local.Finalizers, jobTracking) {
		return decide.Plan{}
	}
	if s.Refused != nil && s.Refused.Wait > 0 {
		return decide.Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
	}
	return decide.Plan{Actions: []decide.Action{{Verb: decide.Delete, Side: decide.Local, Object: local, Grace: ptr.To[int64](0), AllowsSuccessor: true, Locked: true}}}
}

// jobTracking is the finalizer with which a Job makes sure that it sees each of its pods end.
const jobTracking = "batch.kubernetes.io/job-tracking"

// overdue returns why a pod that is being deleted in both clusters still exists after its grace period, or
// nil, and when to check again. A remote pod that must still be deleted, or deleted with less grace, is not
// overdue. overdue uses the times that the API servers have recorded, so a restart of the manager changes
// nothing.
func overdue(s snapshot) (*field.Problem, time.Duration) {
	if shorter(s.Local, s.Remote) {
		return nil, 0
	}
	if left := graceEnds(s).Add(Overdue).Sub(s.Now); left > 0 {
		return nil, left
	}
	problem := field.Problemf(v1alpha1.ReasonNodeLost, "provider %s is still deleting pod %s/%s, although its grace period is over: the node there may be lost, and the pod may still run",
		s.ClusterID, s.Remote.Namespace, s.Remote.Name)
	if len(s.Remote.Finalizers) > 0 {
		problem = field.Problemf(v1alpha1.ReasonRemotePodDeleted, "provider %s is still deleting pod %s/%s: finalizers hold it there (%s)",
			s.ClusterID, s.Remote.Namespace, s.Remote.Name, finalizers(s.Remote))
	}
	return &problem, 0
}

// graceEnds returns when the grace period of a pod that is being deleted in both clusters ends, by the
// manager's clock. It ends later in the provider if the provider was away when the pod was deleted in the
// consumer. A provider may report anything, so a time that is too late for the requested grace is ignored.
// There is some tolerance, because the clocks are compared only once in a while.
func graceEnds(s snapshot) time.Time {
	here, there := s.Local.DeletionTimestamp.Time, s.Remote.DeletionTimestamp.Add(-s.ClockSkew)
	grace := time.Duration(ptr.Deref(s.Local.DeletionGracePeriodSeconds, 0)) * time.Second
	if there.Before(here) || there.After(s.Now.Add(grace+Overdue)) {
		return here
	}
	return there
}

// finalizers lists the first few finalizers of a remote pod, because a provider may write many.
func finalizers(remote *corev1.Pod) string {
	few := min(len(remote.Finalizers), 3)
	return strings.Join(remote.Finalizers[:few], ", ")
}
