package field

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// IsReady reports whether a pod is Ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
