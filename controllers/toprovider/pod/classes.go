package pod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

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
