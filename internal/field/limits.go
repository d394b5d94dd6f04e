package field

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Limits say what the provider's administrator allows beyond what Spillway needs. They are in the
// ConfigMap spillway-provider/limits. The provider's policies refuse everything else. The manager
// checks it first to give a reason.
type Limits struct {
	// Unknown says why nothing is sent, because the limits are missing or invalid. Otherwise it is nil.
	Unknown *Problem
	// Profile describes the limits for people: confined, trusted, or confined with the keys that allow
	// everything. It is empty if they are unknown.
	Profile string
	// PodSecurity is the pod security standard that new remote namespaces enforce.
	PodSecurity Standard
	// VolumeTypes are the types of volumes that pods may describe inline.
	VolumeTypes []string
	// TolerationKeys are the keys of taints that pods may tolerate. All stands for every taint. It also
	// allows tolerations without a key.
	TolerationKeys []string
	// MetadataKeys are the keys, or their domains, of labels and annotations that are sent. Keys
	// without a domain are always sent. All stands for every key. ReservedKeys are never sent.
	MetadataKeys, ReservedKeys []string
	// LoadBalancerClasses are the load balancer classes that Services may have. "default" stands for
	// none, and All for every class.
	LoadBalancerClasses []string
	// IngressClasses are the classes that Ingresses may have. Gateways are the Gateways that routes may
	// have, as namespace/name. IngressHosts are the hosts of both; see HostsFor. All stands for
	// everything.
	IngressClasses, Gateways, IngressHosts []string
	// EndpointCIDRs are the ranges from which EndpointSlices may have addresses.
	EndpointCIDRs []netip.Prefix
	// StorageClasses and VolumeAttributesClasses are the classes with which the provider creates
	// volumes. All stands for every class.
	StorageClasses, VolumeAttributesClasses []string
	// CSISecretNamespaces are the provider's namespaces with Secrets that PersistentVolumes may name.
	CSISecretNamespaces []string
	// ServiceAccounts are the accounts as which pods may run, as namespace/name. Each * in the
	// namespace stands for any characters. With +token after the name, pods may have the account's token.
	ServiceAccounts []string
}

// HasSecretsOfDrivers reports whether PersistentVolumes may name the Secrets of the provider in one of its
// namespaces.
func (l *Limits) HasSecretsOfDrivers(namespace string) bool {
	return l != nil && slices.Contains(l.CSISecretNamespaces, namespace)
}

// Tolerates reports whether a toleration may be sent. It may be if the provider offers the taint, or
// the taint keeps no pod off a node. The two tolerations that Kubernetes adds to each pod may also be
// sent.
func (l *Limits) Tolerates(t *corev1.Toleration) bool {
	switch {
	case t.Key == "":
		return slices.Contains(l.TolerationKeys, All)
	case t.Effect == corev1.TaintEffectPreferNoSchedule:
		return true
	case t.Effect == corev1.TaintEffectNoExecute && (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable):
		return true
	}
	return ListsOrAll(l.TolerationKeys, t.Key)
}

// ToleratesForResource reports whether a toleration is for an extended resource that the pod itself requests,
// such as GPUs. Administrators taint nodes with such a resource with its name, and Kubernetes' admission plugin
// ExtendedResourceToleration adds this toleration. It may be sent whatever the limits list: the pod runs only on
// nodes with the resource anyway, and a quota decides about that. The provider's policy has the same rule.
//
// A request of 0 does not count. It keeps a pod off no node, so the pod could tolerate any taint with a domain.
func ToleratesForResource(t *corev1.Toleration, spec *corev1.PodSpec) bool {
	if t.Operator != "" && t.Operator != corev1.TolerationOpEqual && t.Operator != corev1.TolerationOpExists || !IsExtendedResource(t.Key) {
		return false
	}
	requests := func(c corev1.Container) bool {
		quantity := c.Resources.Requests[corev1.ResourceName(t.Key)]
		return quantity.Sign() > 0
	}
	return slices.ContainsFunc(spec.Containers, requests) || slices.ContainsFunc(spec.InitContainers, requests)
}

// IsExtendedResource reports whether the name of a resource is not one of Kubernetes' own. It decides as
// IsExtendedResourceName of Kubernetes does.
func IsExtendedResource(name string) bool {
	return strings.Contains(name, "/") && !strings.Contains(name, corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix)
}
