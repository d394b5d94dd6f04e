package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// EndedByProvider reports whether an action on a live pod, its deletion or a new status, shows that the provider
// has ended the pod. It does not count what a team's own containers do, or what Kubernetes does at the team's
// request: jobs may fail as fast as they like.
func EndedByProvider(local *corev1.Pod, a decide.Action) bool {
	after, ok := a.Object.(*corev1.Pod)
	switch {
	case !ok, terminal(local), !local.DeletionTimestamp.IsZero():
		return false
	case a.Verb == decide.Delete: // Spillway deletes a live pod only if the provider does.
		return true
	case !terminal(after), local.Spec.ActiveDeadlineSeconds != nil:
		return false
	case after.Status.Reason == v1alpha1.ReasonRemotePodLost:
		return true
	case local.Spec.RestartPolicy == corev1.RestartPolicyAlways: // Its containers restart, however often they end.
		return true
	default:
		return after.Status.Phase == corev1.PodFailed && !hasStarted(&after.Status)
	}
}

// hasStarted reports whether any container has started.
func hasStarted(status *corev1.PodStatus) bool {
	for _, statuses := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range statuses {
			state := &statuses[i].State
			if state.Running != nil || state.Terminated != nil && !state.Terminated.StartedAt.IsZero() || statuses[i].RestartCount > 0 {
				return true
			}
		}
	}
	return false
}

// sendBackoffProblem returns why a pod that has everything it needs is not sent yet. The text is the same for all
// pods, and stays the same while it lasts.
func sendBackoffProblem(s snapshot) field.Problem {
	return field.Problem{Reason: v1alpha1.ReasonEndedTooSoon, Message: fmt.Sprintf(
		"in provider %s, many pods of namespace %s ended within a minute: Spillway sends the next ones one at a time, ever more slowly, until one runs for a minute",
		s.ClusterID, s.Local.Namespace)}
}
