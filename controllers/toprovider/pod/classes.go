package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// classRefusal says why a pod is not sent with these classes, or returns nil. A pod without its
// RuntimeClass, or with another one of that name, may be less isolated than it asks. And the provider
// refuses pods with a class that it does not have.
func classRefusal(pod *corev1.Pod, classes field.Classes, has field.Has) *field.Problem {
	if name := ptr.Deref(pod.Spec.RuntimeClassName, ""); name != "" {
		remote, mapped := classes.Of(v1alpha1.ClassRuntime, name)
		if !mapped {
			return field.Refuse(v1alpha1.ReasonClassNotMapped,
				"spec.runtimeClassName: the ClusterBinding does not map RuntimeClass %q; ask the platform engineer to add it to spec.classes, "+
					"or keep the pod on the consumer's own nodes with a node affinity %s DoesNotExist", name, v1alpha1.LabelNodeType)
		}
		if refusal := field.Absent("spec.runtimeClassName", v1alpha1.ClassRuntime, remote, has); refusal != nil {
			return refusal
		}
	}
	if remote, mapped := classes.Of(v1alpha1.ClassPriority, pod.Spec.PriorityClassName); mapped {
		return field.Absent("spec.priorityClassName", v1alpha1.ClassPriority, remote, has)
	}
	return nil
}

// nameClasses sets the provider's classes in a remote pod. It leaves out a PriorityClass that is not
// mapped.
func nameClasses(remote, local *corev1.PodSpec, classes field.Classes) {
	remote.PriorityClassName, _ = classes.Of(v1alpha1.ClassPriority, local.PriorityClassName)
	remote.RuntimeClassName = nil
	if name := local.RuntimeClassName; name != nil {
		if mapped, _ := classes.Of(v1alpha1.ClassRuntime, *name); mapped != "" {
			remote.RuntimeClassName = &mapped
		}
	}
}
