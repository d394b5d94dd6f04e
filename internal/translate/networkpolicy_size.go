package translate

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// mostPolicyParts bounds the rules, peers and ports of a policy that is held. An empty rule
// is three bytes for the API server, and 48 in memory: a single policy of 1.5 MiB would
// take 30 MiB of every manager.
const mostPolicyParts = 10000

// cut is the type of a policy that was too large to be held. No API server accepts it, so
// no user can write it.
const cut networkingv1.PolicyType = "spillway.io/TooLarge"

// CutPolicy takes the rules of a NetworkPolicy away that has too many to be held. Its
// podSelector stays: it says which pods it is about. Applied to its own result it changes
// nothing.
func CutPolicy(policy *networkingv1.NetworkPolicy) {
	if policyParts(&policy.Spec) > mostPolicyParts {
		policy.Spec = networkingv1.NetworkPolicySpec{PodSelector: policy.Spec.PodSelector, PolicyTypes: []networkingv1.PolicyType{cut}}
	}
}

func isCutPolicy(policy *networkingv1.NetworkPolicy) bool {
	return slices.Contains(policy.Spec.PolicyTypes, cut)
}

func policyParts(spec *networkingv1.NetworkPolicySpec) int {
	parts := len(spec.Ingress) + len(spec.Egress)
	for i := range spec.Ingress {
		parts += len(spec.Ingress[i].From) + len(spec.Ingress[i].Ports)
	}
	for i := range spec.Egress {
		parts += len(spec.Egress[i].To) + len(spec.Egress[i].Ports)
	}
	return parts
}
