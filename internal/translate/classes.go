package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Classes are those of a ClusterBinding: the names that the consumer's classes have in the
// provider.
type Classes []v1alpha1.ClassMapping

// Of is the name in the provider of one of the consumer's classes.
func (c Classes) Of(kind v1alpha1.ClassKind, name string) (remote string, mapped bool) {
	for i := range c {
		if c[i].Kind == kind && c[i].Name == name {
			return c[i].RemoteName, true
		}
	}
	return "", false
}

// ClassRefusal says why a pod is not sent with these classes, or is nil. Without its
// RuntimeClass, or with another one of that name, a pod would run less isolated than it asks.
func ClassRefusal(pod *corev1.Pod, classes Classes) *Refusal {
	name := pod.Spec.RuntimeClassName
	if name == nil || *name == "" {
		return nil
	}
	if _, mapped := classes.Of(v1alpha1.ClassRuntime, *name); mapped {
		return nil
	}
	return refusalf(v1alpha1.ReasonClassNotMapped,
		"spec.runtimeClassName: the ClusterBinding maps RuntimeClass %q to none of the provider; ask the platform engineer to list it in spec.classes; "+
			"or keep the pod on the consumer's own nodes, by a node affinity %s DoesNotExist", *name, v1alpha1.LabelNodeType)
}

// nameClasses gives a remote pod the provider's classes. A PriorityClass that is not mapped
// is left out.
func nameClasses(remote, local *corev1.PodSpec, classes Classes) {
	remote.PriorityClassName, _ = classes.Of(v1alpha1.ClassPriority, local.PriorityClassName)
	remote.RuntimeClassName = nil
	if name := local.RuntimeClassName; name != nil {
		if mapped, _ := classes.Of(v1alpha1.ClassRuntime, *name); mapped != "" {
			remote.RuntimeClassName = &mapped
		}
	}
}
