package translate

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Classes is spec.classes of a ClusterBinding. It maps the consumer's classes to the provider's names.
type Classes []v1alpha1.ClassMapping

// Of returns the provider's name of a class of the consumer.
func (c Classes) Of(kind v1alpha1.ClassKind, name string) (remote string, mapped bool) {
	for i := range c {
		if c[i].Kind == kind && c[i].Name == name {
			return c[i].RemoteName, true
		}
	}
	return "", false
}

// Presence says whether the provider has a class.
type Presence string

const (
	// ClassThere: the provider has the class.
	ClassThere Presence = "There"
	// ClassMissing: the provider does not have the class.
	ClassMissing Presence = "Missing"
	// ClassUnread: the provider has not answered yet.
	ClassUnread Presence = "Unread"
	// ClassUnknown: the provider does not tell, or nobody asks. The class counts as existing.
	ClassUnknown Presence = ""
)

// Has says whether the provider has a class. A nil Has knows nothing about any class.
type Has func(kind v1alpha1.ClassKind, remoteName string) Presence

// ClassRefusal says why a pod is not sent with these classes, or returns nil. A pod without its
// RuntimeClass, or with another one of that name, may be less isolated than it asks. And the provider
// refuses pods with a class that it does not have.
func ClassRefusal(pod *corev1.Pod, classes Classes, has Has) *field.Problem {
	if name := ptr.Deref(pod.Spec.RuntimeClassName, ""); name != "" {
		remote, mapped := classes.Of(v1alpha1.ClassRuntime, name)
		if !mapped {
			return field.Refuse(v1alpha1.ReasonClassNotMapped,
				"spec.runtimeClassName: the ClusterBinding does not map RuntimeClass %q; ask the platform engineer to add it to spec.classes, "+
					"or keep the pod on the consumer's own nodes with a node affinity %s DoesNotExist", name, v1alpha1.LabelNodeType)
		}
		if refusal := absent("spec.runtimeClassName", v1alpha1.ClassRuntime, remote, has); refusal != nil {
			return refusal
		}
	}
	if remote, mapped := classes.Of(v1alpha1.ClassPriority, pod.Spec.PriorityClassName); mapped {
		return absent("spec.priorityClassName", v1alpha1.ClassPriority, remote, has)
	}
	return nil
}

// IngressClassRefusal says why an Ingress with a mapped class is not sent now, or returns nil. The
// provider may have no such class, so nothing there would serve the Ingress. Or this is not known yet.
func IngressClassRefusal(local *networkingv1.Ingress, classes Classes, has Has) *field.Problem {
	if remote, mapped := classes.Of(v1alpha1.ClassIngress, ptr.Deref(local.Spec.IngressClassName, "")); mapped {
		return absent("spec.ingressClassName", v1alpha1.ClassIngress, remote, has)
	}
	return nil
}

// absent returns a problem if the provider has no class of that name, or if this is not known yet.
// Otherwise it returns nil.
func absent(path string, kind v1alpha1.ClassKind, remote string, has Has) *field.Problem {
	if has == nil {
		return nil
	}
	switch has(kind, remote) {
	case ClassMissing:
		return field.Refuse(v1alpha1.ReasonClassMissing, "%s: the provider has no %s %q, to which spec.classes of the ClusterBinding maps it; "+
			"ask the platform engineer to correct that, or the provider's administrator to create the class", path, kind, remote)
	case ClassUnread:
		return field.Refuse(v1alpha1.ReasonReferenceNotSynced, "%s: it is not known yet whether the provider has the %s %q", path, kind, remote)
	}
	return nil
}

// nameClasses sets the provider's classes in a remote pod. It leaves out a PriorityClass that is not
// mapped.
func nameClasses(remote, local *corev1.PodSpec, classes Classes) {
	remote.PriorityClassName, _ = classes.Of(v1alpha1.ClassPriority, local.PriorityClassName)
	remote.RuntimeClassName = nil
	if name := local.RuntimeClassName; name != nil {
		if mapped, _ := classes.Of(v1alpha1.ClassRuntime, *name); mapped != "" {
			remote.RuntimeClassName = &mapped
		}
	}
}
