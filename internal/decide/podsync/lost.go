package podsync

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/translate"
)

const (
	// reasonStatusUnknown and exitCodeUnknown are what a kubelet reports about a container that it cannot
	// find when the pod has ended. Nobody knows how it ended, so it counts as failed.
	reasonStatusUnknown = "ContainerStatusUnknown"
	exitCodeUnknown     = 137
)

// lost decides about a pod that was in the provider, as was. The cache does not show it. But the cache shows
// only objects with Spillway's mark, so the provider is asked first.
func lost(s snapshot, was *corev1.Pod) decide.Plan {
	if !s.Lost {
		return decide.Plan{Actions: []decide.Action{{Verb: decide.Find, Side: decide.Remote, Object: was}}}
	}
	problem := field.Problemf(v1alpha1.ReasonRemotePodLost, "pod %s/%s (UID %s) is gone from provider %s, without a deletion in the consumer",
		was.Namespace, was.Name, was.UID, s.ClusterID)
	failed := fail(s, problem)
	if pod, ok := failed.Object.(*corev1.Pod); ok && metav1.GetControllerOfNoCopy(s.Local) != nil {
		setDisrupted(&pod.Status, problem, s.Now)
	}
	return decide.Plan{Actions: []decide.Action{failed}, Event: &problem}
}

// fail returns the action that marks a pod, and all its containers, as Failed.
func fail(s snapshot, why field.Problem) decide.Action {
	status := *s.Local.Status.DeepCopy()
	status.Phase, status.Reason, status.Message = corev1.PodFailed, why.Reason, why.Message
	setNotReady(&status, s.Now)
	for _, statuses := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		setTerminated(statuses, status.Message, s.Now)
	}
	return statusPatch(s.Local, status, nil)
}

// setNotReady marks a failed pod as not ready. It removes the reason that the provider was deleting the pod,
// because that no longer explains anything.
func setNotReady(status *corev1.PodStatus, now time.Time) {
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		if condition.Type != corev1.PodReady && condition.Type != corev1.ContainersReady {
			continue
		}
		if condition.Status != corev1.ConditionFalse {
			condition.Status, condition.Reason = corev1.ConditionFalse, "PodFailed"
			condition.LastTransitionTime = metav1.NewTime(now)
		} else if condition.Reason == translate.RemoteTerminating {
			condition.Reason, condition.Message = "PodFailed", ""
		}
	}
}

// setTerminated ends the containers that are still running or have never started.
func setTerminated(statuses []corev1.ContainerStatus, message string, now time.Time) {
	for i := range statuses {
		status := &statuses[i]
		if status.State.Terminated != nil {
			continue
		}
		status.Ready, status.Started = false, ptr.To(false)
		ended := &corev1.ContainerStateTerminated{
			ExitCode: exitCodeUnknown, Reason: reasonStatusUnknown, Message: text.Clean(message),
			FinishedAt: metav1.NewTime(now), ContainerID: status.ContainerID,
		}
		if status.State.Running != nil {
			ended.StartedAt = status.State.Running.StartedAt
		}
		status.State = corev1.ContainerState{Terminated: ended}
	}
}
