package networkpolicy

import (
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file implements what a NetworkPolicy means, as the API describes it. It shares no code with the
// translation.

// source is the other end of a connection: a pod, or an address outside of the cluster.
type source struct {
	namespace       string // "" for an address.
	namespaceLabels map[string]string
	labels          map[string]string
	ip              string
}

// isolates reports whether a policy applies to a direction.
func isolates(spec *networkingv1.NetworkPolicySpec, direction networkingv1.PolicyType) bool {
	if len(spec.PolicyTypes) > 0 {
		return slices.Contains(spec.PolicyTypes, direction)
	}
	return direction == networkingv1.PolicyTypeIngress || len(spec.Egress) > 0
}

// allows reports whether a policy in a namespace allows its selected pods to talk to the other end, in
// a direction, at a port.
func allows(spec *networkingv1.NetworkPolicySpec, namespace string, direction networkingv1.PolicyType, other source, port int32) bool {
	type rule struct {
		ports []networkingv1.NetworkPolicyPort
		peers []networkingv1.NetworkPolicyPeer
	}
	var rules []rule
	if direction == networkingv1.PolicyTypeIngress {
		for _, r := range spec.Ingress {
			rules = append(rules, rule{r.Ports, r.From})
		}
	} else {
		for _, r := range spec.Egress {
			rules = append(rules, rule{r.Ports, r.To})
		}
	}
	return slices.ContainsFunc(rules, func(r rule) bool {
		return anyOf(r.ports, func(p networkingv1.NetworkPolicyPort) bool {
			last := p.Port.IntVal
			if p.EndPort != nil {
				last = *p.EndPort
			}
			return p.Port.IntVal <= port && port <= last
		}) && anyOf(r.peers, func(p networkingv1.NetworkPolicyPeer) bool { return matchesPeer(p, namespace, other) })
	})
}

// anyOf reports whether match is true for one of them, or there are none: an empty list restricts
// nothing.
func anyOf[T any](all []T, match func(T) bool) bool {
	return len(all) == 0 || slices.ContainsFunc(all, match)
}

func matchesPeer(p networkingv1.NetworkPolicyPeer, namespace string, other source) bool {
	switch {
	case p.IPBlock != nil:
		return other.namespace == "" && within(p.IPBlock.CIDR, other.ip) &&
			!slices.ContainsFunc(p.IPBlock.Except, func(cidr string) bool { return within(cidr, other.ip) })
	case other.namespace == "", p.PodSelector == nil && p.NamespaceSelector == nil:
		return false
	case p.NamespaceSelector == nil:
		return other.namespace == namespace && matchesLabels(p.PodSelector, other.labels)
	default:
		return matchesLabels(p.NamespaceSelector, other.namespaceLabels) && (p.PodSelector == nil || matchesLabels(p.PodSelector, other.labels))
	}
}

func within(cidr, ip string) bool {
	return netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(ip))
}

func matchesLabels(selector *metav1.LabelSelector, labels map[string]string) bool {
	for key, value := range selector.MatchLabels {
		if has, is := labels[key]; !is || has != value {
			return false
		}
	}
	return !slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		value, is := labels[r.Key]
		switch r.Operator {
		case metav1.LabelSelectorOpIn:
			return !is || !slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpNotIn:
			return is && slices.Contains(r.Values, value)
		case metav1.LabelSelectorOpExists:
			return !is
		default:
			return is
		}
	})
}

// namesUnsent reports whether a policy names a label that pods are sent without.
func namesUnsent(policy string) bool {
	return slices.ContainsFunc(keysNotSent, func(key string) bool { return strings.Contains(policy, key) })
}
