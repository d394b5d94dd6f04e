package v1alpha1

// BindingNetwork reports which addresses of the provider's pods the consumer shows:
// none, or those in the podCIDRs. It is not part of BindingReady: pods run in any case.
const BindingNetwork = "Network"

// Reasons of BindingNetwork. ReasonDuplicateClusterID is one too.
const (
	// ReasonIsolated: no addresses are shown. The mode is Isolated.
	ReasonIsolated = "Isolated"
	// ReasonRouted: addresses in the podCIDRs are shown.
	ReasonRouted = "Routed"
	// ReasonCIDROverlap: the mode is Routed, but no addresses are shown, because the
	// podCIDRs overlap those of an older ClusterBinding or of the consumer's own
	// nodes. The message names both.
	ReasonCIDROverlap = "CIDROverlap"
)

// NetworkMode says whether the pod networks of consumer and provider are connected.
// +kubebuilder:validation:Enum=Isolated;Routed
type NetworkMode string

const (
	// NetworkIsolated: they are not. The default.
	NetworkIsolated NetworkMode = "Isolated"
	// NetworkRouted: they are, by something other than Spillway.
	NetworkRouted NetworkMode = "Routed"
)

// ProviderNetwork says whether the consumer's pods reach those in the provider.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode) && self.mode == 'Routed' ? has(self.podCIDRs) : true",fieldPath=".podCIDRs",reason=FieldValueRequired,message="podCIDRs are required with mode Routed: addresses outside of them are not shown"
// +kubebuilder:validation:XValidation:rule="has(self.mode) && self.mode == 'Routed' ? true : !has(self.podCIDRs)",fieldPath=".podCIDRs",reason=FieldValueForbidden,message="podCIDRs are for mode Routed only"
type ProviderNetwork struct {
	// mode is Isolated, the default, if there is no route between the pod networks: the
	// status of offloaded pods has no IPs, so no Service of the consumer sends traffic
	// there. It is Routed if there is one: the status has the IPs that are in podCIDRs,
	// and no others. Either way the annotation spillway.io/remote-ip shows the address
	// that a pod has in the provider.
	// +optional
	// +kubebuilder:default=Isolated
	Mode NetworkMode `json:"mode,omitempty"`

	// podCIDRs are the address ranges of the provider's pods. Required with mode Routed.
	// At most 16, none of which overlaps another one here, of an older ClusterBinding, or
	// of the consumer's own nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(a, !isCIDR(a) || self.exists_one(b, isCIDR(b) && (cidr(a).containsCIDR(cidr(b)) || cidr(b).containsCIDR(cidr(a)))))",message="podCIDRs must not overlap each other"
	PodCIDRs []PodCIDR `json:"podCIDRs,omitempty"`

	// sharedNamespaces are namespaces that both clusters have under one name, and whose
	// pods do the same in both, such as one for monitoring. A NetworkPolicy that lets them
	// in here lets those of the provider in there. kube-system always is one, because the
	// DNS is there. Whoever has such a namespace in the provider is trusted as its
	// namesake here is. At most 32.
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
// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '::/127', 'fe80::/10', 'ff00::/8'].all(r, !cidr(self).containsCIDR(r) && !cidr(r).containsCIDR(self))",message="podCIDRs must hold no unspecified, loopback, link-local or multicast addresses",messageExpression="'podCIDRs must hold no unspecified, loopback, link-local or multicast addresses; \"' + self + '\" does'"
type PodCIDR string
