package v1alpha1

import "slices"

// OffloadedResource is a kind of objects of an offloaded namespace that no pod refers to.
// +kubebuilder:validation:Enum=Services;NetworkPolicies;PodDisruptionBudgets
type OffloadedResource string

const (
	// OffloadedServices are the Services of the namespace.
	OffloadedServices OffloadedResource = "Services"
	// OffloadedNetworkPolicies are the NetworkPolicies of the namespace.
	OffloadedNetworkPolicies OffloadedResource = "NetworkPolicies"
	// OffloadedPodDisruptionBudgets are the PodDisruptionBudgets of the namespace. They are
	// not sent by default: with them, a team can hold up the draining of a provider's nodes.
	OffloadedPodDisruptionBudgets OffloadedResource = "PodDisruptionBudgets"
)

// DefaultResources are sent unless an offloading says otherwise. The default of the field
// is the same.
var DefaultResources = []OffloadedResource{OffloadedServices, OffloadedNetworkPolicies}

// Sends reports whether the offloading has objects of that kind sent.
func (s *NamespaceOffloadingSpec) Sends(resource OffloadedResource) bool {
	if s.Resources == nil {
		return slices.Contains(DefaultResources, resource)
	}
	return slices.Contains(s.Resources, resource)
}
