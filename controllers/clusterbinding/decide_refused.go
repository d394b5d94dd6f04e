package clusterbinding

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/field"
)

// setWritesRefused reports which writes the consumer refuses. The manager learns of them from their answers.
// So after a restart the condition is missing until the first refusal.
func setWritesRefused(s snapshot, status *v1alpha1.ClusterBindingStatus) {
	if s.WritesRefused == "" {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.BindingWritesRefused)
		return
	}
	conditions.Set(&status.Conditions, s.Binding.Generation, conditions.New(v1alpha1.BindingWritesRefused, metav1.ConditionTrue, v1alpha1.ReasonForbiddenHere,
		"this cluster refuses the manager "+s.WritesRefused+": objects that need this wait. "+advice(s.WritesRefused)))
}

// advice says what to do about refused writes: a missing right and a policy have different remedies.
func advice(refused string) string {
	const expect = "Spillway's own roles and policies expect ServiceAccount spillway-manager in namespace spillway-system, and this version's install.yaml"
	volumes, rights := field.LacksVolumes(refused), field.LacksRights(refused)
	var all []string
	if volumes > 0 {
		all = append(all, "RBAC refuses PersistentVolumes: the manager needs the ClusterRole spillway-volumes, which a platform engineer must bind")
	}
	if rights > volumes {
		all = append(all, "RBAC refuses: the account lacks a right. "+expect)
	}
	if field.Denied(refused) || rights == 0 {
		all = append(all, "A policy or a webhook refuses: exempt that account in your own. "+expect)
	}
	return strings.Join(all, ". ")
}

// createVolumes is the write for which only bindings that map a StorageClass wait.
const createVolumes = "create persistentvolumes"

// concerns reports whether a refused write concerns this binding. One to a node, or to its Lease, must be to one of its own.
func (s *snapshot) concerns(what, node string) bool {
	if what == createVolumes {
		return field.Classes(s.Binding.Spec.Classes).Maps(v1alpha1.ClassStorage)
	}
	return node == "" || node == s.Binding.VirtualNodeName() ||
		slices.ContainsFunc(s.Virtual, func(v *corev1.Node) bool { return v.Name == node }) ||
		slices.ContainsFunc(s.Binding.Status.VirtualNodes, func(v v1alpha1.VirtualNodeStatus) bool { return v.Name == node })
}
