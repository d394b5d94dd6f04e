package accept

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// runtimeClassNotMapped refuses a pod with a RuntimeClass that the ClusterBinding does not map (ClassNotMapped).
// Without its RuntimeClass, or with another one of that name, the pod may be less isolated than it asks. A
// PriorityClass that is not mapped is left out.
func runtimeClassNotMapped(pod *corev1.Pod, in Provider) *field.Problem {
	name := ptr.Deref(pod.Spec.RuntimeClassName, "")
	if _, mapped := in.Classes.Of(v1alpha1.ClassRuntime, name); mapped || name == "" {
		return nil
	}
	return field.Refuse(v1alpha1.ReasonClassNotMapped,
		"spec.runtimeClassName: the ClusterBinding does not map RuntimeClass %q; ask the platform engineer to add it to spec.classes, "+
			"or keep the pod on the consumer's own nodes with a node affinity %s DoesNotExist", name, v1alpha1.LabelNodeType)
}

// missingClass refuses a pod with a class that the provider does not have (ClassMissing), or may not have
// (ReferenceNotSynced, until the provider has answered). The provider itself refuses pods with such a class.
func missingClass(pod *corev1.Pod, in Provider) *field.Problem {
	if name := ptr.Deref(pod.Spec.RuntimeClassName, ""); name != "" {
		remote, _ := in.Classes.Of(v1alpha1.ClassRuntime, name)
		if refusal := field.Absent("spec.runtimeClassName", v1alpha1.ClassRuntime, remote, in.Has); refusal != nil {
			return refusal
		}
	}
	if remote, mapped := in.Classes.Of(v1alpha1.ClassPriority, pod.Spec.PriorityClassName); mapped {
		return field.Absent("spec.priorityClassName", v1alpha1.ClassPriority, remote, in.Has)
	}
	return nil
}
