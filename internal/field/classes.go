package field

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
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

// Maps reports whether any class of a kind is mapped.
func (c Classes) Maps(kind v1alpha1.ClassKind) bool {
	return slices.ContainsFunc(c, func(m v1alpha1.ClassMapping) bool { return m.Kind == kind })
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

// Absent returns a problem if the provider has no class of that name, or if this is not known yet.
// Otherwise it returns nil.
func Absent(path string, kind v1alpha1.ClassKind, remote string, has Has) *Problem {
	if has == nil {
		return nil
	}
	switch has(kind, remote) {
	case ClassMissing:
		return Refuse(v1alpha1.ReasonClassMissing, "%s: the provider has no %s %q, to which spec.classes of the ClusterBinding maps it; "+
			"ask the platform engineer to correct that, or the provider's administrator to create the class", path, kind, remote)
	case ClassUnread:
		return Refuse(v1alpha1.ReasonReferenceNotSynced, "%s: it is not known yet whether the provider has the %s %q", path, kind, remote)
	}
	return nil
}

// Gateways returns the provider's Gateway that a local Gateway is mapped to. mapped is false if the
// ClusterBinding does not map it.
type Gateways func(local types.NamespacedName) (remote types.NamespacedName, mapped bool)

// Gateways maps a local Gateway as the ClusterBinding says. It is a function of type Gateways.
func (c Classes) Gateways(local types.NamespacedName) (remote types.NamespacedName, mapped bool) {
	to, mapped := c.Of(v1alpha1.ClassGateway, local.String())
	remote.Namespace, remote.Name, _ = strings.Cut(to, "/")
	return remote, mapped
}

// HasClass reports whether a Service is of type LoadBalancer and has a class. The consumer's cloud
// ignores such Services.
func HasClass(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass != nil
}
