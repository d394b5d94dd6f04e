package clusterbinding

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// setWritesRefused reports which writes the consumer refuses. The manager learns of them from their answers.
// So after a restart the condition is missing until the first refusal.
func setWritesRefused(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	if s.WritesRefused == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingWritesRefused)
		return
	}
	conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingWritesRefused, metav1.ConditionTrue, v1alpha1.ReasonForbiddenHere,
		"this cluster refuses the manager "+s.WritesRefused+": objects that need this wait. Exempt that account in your own policies and webhooks. Spillway's own roles and policies expect ServiceAccount "+
			"spillway-manager in namespace spillway-system, and this version's install.yaml"))
}

// concerns reports whether a node is of this binding. Refused writes to other nodes do not concern it.
func (s *snapshot) concerns(node string) bool {
	return node == s.Binding.VirtualNodeName() ||
		slices.ContainsFunc(s.Virtual, func(v *corev1.Node) bool { return v.Name == node }) ||
		slices.ContainsFunc(s.Binding.Status.VirtualNodes, func(v v1alpha1.VirtualNodeStatus) bool { return v.Name == node })
}
