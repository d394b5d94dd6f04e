package pod

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/status"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
)

const (
	// reasonStatusUnknown and exitCodeUnknown are what a kubelet reports about a container that it cannot
	// find when the pod has ended. Nobody knows how it ended, so it counts as failed.
	reasonStatusUnknown = "ContainerStatusUnknown"
	exitCodeUnknown     = 137
)

// handleLost decides about a pod that was in the provider, as was. The cache does not show it. But the cache shows
// only objects with Spillway's mark, so the provider is asked first.
func handleLost(s snapshot, was *corev1.Pod) decide.Plan {
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
	reported := *s.Local.Status.DeepCopy()
	reported.Phase, reported.Reason, reported.Message = corev1.PodFailed, why.Reason, why.Message
	setNotReady(&reported, s.Now)
	for _, statuses := range [][]corev1.ContainerStatus{reported.InitContainerStatuses, reported.ContainerStatuses, reported.EphemeralContainerStatuses} {
		setTerminated(statuses, reported.Message, s.Now)
	}
	return statusPatch(s.Local, reported, nil)
}

// setNotReady marks a failed pod as not ready. It removes the reason that the provider was deleting the pod,
// because that no longer explains anything.
func setNotReady(reported *corev1.PodStatus, now time.Time) {
	for i := range reported.Conditions {
		condition := &reported.Conditions[i]
		if condition.Type != corev1.PodReady && condition.Type != corev1.ContainersReady {
			continue
		}
		if condition.Status != corev1.ConditionFalse {
			condition.Status, condition.Reason = corev1.ConditionFalse, "PodFailed"
			condition.LastTransitionTime = metav1.NewTime(now)
		} else if condition.Reason == status.RemoteTerminating {
			condition.Reason, condition.Message = "PodFailed", ""
		}
	}
}

// setTerminated ends the containers that are still running or have never started.
func setTerminated(statuses []corev1.ContainerStatus, message string, now time.Time) {
	for i := range statuses {
		reported := &statuses[i]
		if reported.State.Terminated != nil {
			continue
		}
		reported.Ready, reported.Started = false, ptr.To(false)
		ended := &corev1.ContainerStateTerminated{
			ExitCode: exitCodeUnknown, Reason: reasonStatusUnknown, Message: text.Clean(message),
			FinishedAt: metav1.NewTime(now), ContainerID: reported.ContainerID,
		}
		if reported.State.Running != nil {
			ended.StartedAt = reported.State.Running.StartedAt
		}
		reported.State = corev1.ContainerState{Terminated: ended}
	}
}
