package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// Condition returns a binding's condition Network, given all bindings and the consumer's nodes.
func Condition(binding *v1alpha1.ClusterBinding, all placement.Index, nodes []corev1.Node) metav1.Condition {
	if binding.Spec.Network.Mode != v1alpha1.NetworkRouted {
		return conditions.New(v1alpha1.BindingNetwork, metav1.ConditionTrue, v1alpha1.ReasonIsolated,
			"no addresses of the provider's pods are shown")
	}
	if overlap := overlap(binding, all, local(nodes)); overlap != "" {
		return conditions.New(v1alpha1.BindingNetwork, metav1.ConditionFalse, v1alpha1.ReasonCIDROverlap,
			overlap+": no addresses of the provider's pods are shown")
	}
	cidrs := make([]string, 0, len(binding.Spec.Network.PodCIDRs))
	for _, prefix := range ranges(binding) {
		cidrs = append(cidrs, prefix.String())
	}
	return conditions.New(v1alpha1.BindingNetwork, metav1.ConditionTrue, v1alpha1.ReasonRouted,
		"addresses of the provider's pods in "+strings.Join(cidrs, ", ")+" are shown")
}

// An ownedRange is a range and its owner.
type ownedRange struct {
	prefix netip.Prefix
	whose  string
}

// overlap names the binding's ranges that overlap a range of somebody else, or returns "". Older bindings
// take precedence. A refused binding takes no range from younger ones.
func overlap(binding *v1alpha1.ClusterBinding, all placement.Index, taken []ownedRange) string {
	for _, b := range all.Oldest() {
		if b.Spec.Network.Mode != v1alpha1.NetworkRouted {
			continue
		}
		mine := ranges(b)
		found := firstOverlap(mine, taken)
		if b.Name == binding.Name {
			return found
		}
		if found != "" {
			continue
		}
		for _, prefix := range mine {
			taken = append(taken, ownedRange{prefix, "of ClusterBinding " + b.Name + ", which is older"})
		}
	}
	return ""
}

func firstOverlap(mine []netip.Prefix, taken []ownedRange) string {
	for _, prefix := range mine {
		for _, other := range taken {
			if prefix.Overlaps(other.prefix) {
				return fmt.Sprintf("podCIDR %s overlaps %s %s", prefix, other.prefix, other.whose)
			}
		}
	}
	return ""
}

// local returns the pod ranges of the consumer's own nodes, as far as the nodes show them. They are sorted,
// so that overlap always names the same one.
func local(nodes []corev1.Node) []ownedRange {
	var claims []ownedRange
	for i := range nodes {
		if nodes[i].Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
			continue
		}
		for _, cidr := range nodes[i].Spec.PodCIDRs {
			if prefix, err := netip.ParsePrefix(cidr); err == nil {
				claims = append(claims, ownedRange{prefix.Masked(), "of the consumer's own pods"})
			}
		}
	}
	slices.SortFunc(claims, func(a, b ownedRange) int { return a.prefix.Compare(b.prefix) })
	return claims
}
