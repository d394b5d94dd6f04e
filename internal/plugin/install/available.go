package install

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field/text"
)

// Available reports whether one replica with the present spec of the Deployment is available, and if not,
// what it waits for.
func Available(deployment *appsv1.Deployment, pods []corev1.Pod) (done bool, waits string) {
	status := deployment.Status
	if status.ObservedGeneration >= deployment.Generation && status.UpdatedReplicas > 0 &&
		status.AvailableReplicas > 0 && status.UnavailableReplicas < status.UpdatedReplicas {
		return true, ""
	}
	for _, condition := range status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return false, condition.Message
		}
	}
	for i := range pods {
		if why := Wait(&pods[i]); why != "" {
			return false, "pod " + pods[i].Name + ": " + why
		}
	}
	if desired(deployment) == 0 {
		return false, "Deployment " + deployment.Name + " has 0 replicas, and a manager outside of this cluster is seen only if it runs with --leader-elect"
	}
	return false, fmt.Sprintf("%d of %d replicas of Deployment %s are available", status.AvailableReplicas, desired(deployment), deployment.Name)
}

func desired(deployment *appsv1.Deployment) int32 {
	if deployment.Spec.Replicas == nil {
		return 1
	}
	return *deployment.Spec.Replicas
}

// Wait says why a pod does not run, or "".
func Wait(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return join(cmp.Or(condition.Reason, "Pending"), condition.Message)
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			switch waiting, last := status.State.Waiting, status.LastTerminationState.Terminated; {
			case waiting == nil, waiting.Reason == "PodInitializing", waiting.Reason == "ContainerCreating":
			case last != nil:
				return join(waiting.Reason, fmt.Sprintf("container %s has ended with exit code %d: %s", status.Name, last.ExitCode, cmp.Or(last.Message, last.Reason)))
			default:
				return join(waiting.Reason, waiting.Message)
			}
		}
	}
	return ""
}

// join puts both on one line, because messages of containers may have several lines.
func join(reason, message string) string {
	return strings.TrimSuffix(text.Clean(reason+": "+message), ": ")
}
