package networkpolicy

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostPolicyParts limits the rules, peers, ports and values of selectors of a policy in the cache. An
// API server stores an empty rule in three bytes, but it takes 48 in memory. So a single policy of 1.5
// MiB would take 30 MiB in every manager.
const mostPolicyParts = 1000

// cut is the type of a policy that was too large for the cache. No API server accepts it, so no user
// can write it.
const cut networkingv1.PolicyType = "spillway.io/TooLarge"

// trim removes the rules of a NetworkPolicy that has too many for the cache. It keeps the
// podSelector, which says which pods the policy is about. A second call changes nothing.
func trim(policy *networkingv1.NetworkPolicy, _ bool) {
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
		parts += peerParts(spec.Ingress[i].From) + len(spec.Ingress[i].Ports)
	}
	for i := range spec.Egress {
		parts += peerParts(spec.Egress[i].To) + len(spec.Egress[i].Ports)
	}
	return parts
}

func peerParts(peers []networkingv1.NetworkPolicyPeer) int {
	parts := len(peers)
	for i := range peers {
		parts += selectorParts(peers[i].PodSelector) + selectorParts(peers[i].NamespaceSelector)
		if peers[i].IPBlock != nil {
			parts += len(peers[i].IPBlock.Except)
		}
	}
	return parts
}

func selectorParts(selector *metav1.LabelSelector) int {
	if selector == nil {
		return 0
	}
	parts := len(selector.MatchLabels) + len(selector.MatchExpressions)
	for i := range selector.MatchExpressions {
		parts += len(selector.MatchExpressions[i].Values)
	}
	return parts
}
