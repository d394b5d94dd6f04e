package podreturn

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// open reports whether a node is ready for new pods.
func open(node *corev1.Node) bool {
	return node.DeletionTimestamp.IsZero() && !node.Spec.Unschedulable && field.IsNodeReady(node)
}

// repels reports whether a node of a provider has a taint that its limits let no pod tolerate.
func repels(node *corev1.Node, tolerable []string) bool {
	return !slices.Contains(tolerable, field.All) && slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.Contains(tolerable, taint.Key)
	})
}

// takes reports whether a node takes a pod, as far as taints, the node selector and the required node affinity say.
// The scheduler checks more. If that is why the successor does not start there, the return fails, and the next one
// waits longer.
func takes(node *corev1.Node, pod *corev1.Pod) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || taint.Key == v1alpha1.TaintVirtualNode {
			continue // The manager opens the tiers of virtual nodes.
		}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), taint, false) }) {
			return false
		}
	}
	fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && fits
}
