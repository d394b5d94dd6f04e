package field

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Resizable are the resources that may change while a container runs.
var Resizable = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// IsReady reports whether a pod is Ready.
func IsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// IsNodeReady reports whether a node is Ready.
func IsNodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// First returns the first element for which is returns true, or nil.
func First[E any](all []E, is func(*E) bool) *E {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}
