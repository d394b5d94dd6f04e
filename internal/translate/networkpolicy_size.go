package translate

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostPolicyParts bounds the rules, peers, ports and values of selectors of a policy that is
// held. An empty rule is three bytes for the API server, and 48 in memory: a single policy of
// 1.5 MiB would take 30 MiB of every manager.
const mostPolicyParts = 1000

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
