package v1alpha1

import "slices"

// OffloadedResource is a kind of object that Spillway sends for a whole namespace, because no pod
// refers to it.
// +kubebuilder:validation:Enum=Services;NetworkPolicies;PodDisruptionBudgets
type OffloadedResource string

const (
	// OffloadedServices are the Services of the namespace.
	OffloadedServices OffloadedResource = "Services"
	// OffloadedNetworkPolicies are the NetworkPolicies of the namespace.
	OffloadedNetworkPolicies OffloadedResource = "NetworkPolicies"
	// OffloadedPodDisruptionBudgets are the PodDisruptionBudgets of the namespace. Spillway does
	// not send them by default, because a team can delay the draining of a provider's nodes with
	// them.
	OffloadedPodDisruptionBudgets OffloadedResource = "PodDisruptionBudgets"
)

// DefaultResources are the kinds that Spillway sends if the offloading lists none. The default of
// the field is the same.
var DefaultResources = []OffloadedResource{OffloadedServices, OffloadedNetworkPolicies}

// Sends reports whether Spillway sends objects of that kind for the offloading.
func (s *NamespaceOffloadingSpec) Sends(resource OffloadedResource) bool {
	if s.Resources == nil {
		return slices.Contains(DefaultResources, resource)
	}
	return slices.Contains(s.Resources, resource)
}
