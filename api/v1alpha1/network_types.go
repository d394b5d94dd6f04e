package v1alpha1

// BindingNetwork reports which addresses of the provider's pods the consumer shows: none, or the
// addresses in podCIDRs. It is not part of BindingReady, because pods run in any case.
const BindingNetwork = "Network"

// Reasons of BindingNetwork. ReasonDuplicateClusterID is another one.
const (
	// ReasonIsolated: the mode is Isolated, so the consumer shows no addresses.
	ReasonIsolated = "Isolated"
	// ReasonRouted: the consumer shows the addresses in podCIDRs.
	ReasonRouted = "Routed"
	// ReasonCIDROverlap: the mode is Routed, but the consumer shows no addresses. The podCIDRs
	// overlap the ranges of an older ClusterBinding or of the consumer's own nodes. The message
	// names both.
	ReasonCIDROverlap = "CIDROverlap"
)

// NetworkMode says whether the pod networks of consumer and provider are connected.
// +kubebuilder:validation:Enum=Isolated;Routed
type NetworkMode string

const (
	// NetworkIsolated: the pod networks are not connected. The default.
	NetworkIsolated NetworkMode = "Isolated"
	// NetworkRouted: something other than Spillway connects the pod networks.
	NetworkRouted NetworkMode = "Routed"
)

// ProviderNetwork says whether the consumer's pods can reach the pods in the provider.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) && self.mode == 'Routed' ? has(self.podCIDRs) : true",fieldPath=".podCIDRs",reason=FieldValueRequired,message="podCIDRs are required with mode Routed: Spillway shows only addresses in them"
// +kubebuilder:validation:XValidation:rule="has(self.mode) && self.mode == 'Routed' ? true : !has(self.podCIDRs)",fieldPath=".podCIDRs",reason=FieldValueForbidden,message="podCIDRs are for mode Routed only"
type ProviderNetwork struct {
	// mode says whether there is a route between the pod networks. Isolated means that there is
	// none: the status of offloaded pods has no IPs, so no Service of the consumer sends traffic to
	// them. Routed means that there is one: the status has the IPs that are in podCIDRs, and no
	// others. In both modes, the annotation spillway.io/remote-ip shows the pod's address in the
	// provider. Defaults to Isolated.
	// +optional
	// +kubebuilder:default=Isolated
	Mode NetworkMode `json:"mode,omitempty"`

	// podCIDRs are the address ranges of the provider's pods, such as 10.8.0.0/14. Required with
	// mode Routed, and forbidden otherwise. At most 16. They must not overlap each other, the
	// ranges of an older ClusterBinding, or the ranges of the consumer's own nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, !isCIDR(a) || self.exists_one(b, isCIDR(b) && (cidr(a).containsCIDR(cidr(b)) || cidr(b).containsCIDR(cidr(a)))))",message="podCIDRs must not overlap each other"
	PodCIDRs []PodCIDR `json:"podCIDRs,omitempty"`

	// sharedNamespaces are namespaces that have the same name and purpose in both clusters, such as
	// monitoring. If a NetworkPolicy allows pods of such a namespace in the consumer, its copy
	// allows the pods of the provider's namespace. kube-system is always shared, because it
	// contains the DNS. List a namespace only if you trust the provider's namespace as much as the
	// consumer's. At most 32.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	SharedNamespaces []SharedNamespace `json:"sharedNamespaces,omitempty"`
}

// SharedNamespace is the name of a namespace.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
type SharedNamespace string

// PodCIDR is a range of pod addresses, such as 10.8.0.0/14 or fd00:8::/48.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=43
// +kubebuilder:validation:XValidation:rule="isCIDR(self) && string(cidr(self).masked()) == self",message="podCIDRs must be canonical, such as 10.8.0.0/14 or fd00:8::/48",messageExpression="'podCIDRs must be canonical, such as 10.8.0.0/14 or fd00:8::/48; \"' + self + '\" is not'"
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '::/127', 'fe80::/10', 'ff00::/8'].all(r, !cidr(self).containsCIDR(r) && !cidr(r).containsCIDR(self))",message="podCIDRs must not contain unspecified, loopback, link-local or multicast addresses",messageExpression="'podCIDRs must not contain unspecified, loopback, link-local or multicast addresses; \"' + self + '\" does'"
type PodCIDR string
