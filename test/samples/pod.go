package samples

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// pod is a pod that needs nothing. One that somebody else deletes in the provider
// has failed: its controller makes another.
func pod(namespace, name, node string) Sample[*corev1.Pod] {
	return Sample[*corev1.Pod]{
		Object: newPod(namespace, name, node),
		Shows:  func(pod *corev1.Pod) string { return pod.Labels[label] + "," + pod.Spec.Containers[0].Image },
		Change: func(local *corev1.Pod) {
			local.Labels[label], local.Spec.Containers[0].Image = "changed", "example.com/app:2"
		},
		Drift: func(remote *corev1.Pod) { remote.Labels[label] = "drifted" },
		Hostile: func(remote *corev1.Pod, word string) {
			hostileMeta(remote, word)
			remote.Status.Conditions = append(remote.Status.Conditions, corev1.PodCondition{
				Type: "example.com/Hostile", Status: corev1.ConditionTrue, Message: word,
			})
		},
		Report: func(remote *corev1.Pod) {
			for i := range remote.Status.ContainerStatuses {
				remote.Status.ContainerStatuses[i].RestartCount++
			}
		},
		Reported: func(pod *corev1.Pod) string {
			text := string(pod.Status.Phase)
			for i := range pod.Status.ContainerStatuses {
				text += fmt.Sprintf(", %d restarts", pod.Status.ContainerStatuses[i].RestartCount)
			}
			return text
		},
		Lost: func(local *corev1.Pod) bool {
			return local.Status.Phase == corev1.PodFailed && local.Status.Reason == v1alpha1.ReasonRemotePodLost
		},
	}
}
