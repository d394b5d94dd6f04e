// Package network decides, without any I/O, which addresses of a provider's pods
// the consumer shows in the status of its own.
//
// Services, and whoever trusts them, send to the address in a pod's status. A provider
// could name any: one that nobody here can reach, a consumer pod's, or one that a node
// has for itself. So none is shown unless the ClusterBinding says which ranges are the
// provider's, and nobody else has those.
package network

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Reach says which addresses are shown. The zero value shows none.
type Reach struct {
	// Ranges hold all addresses that may be shown.
	Ranges []netip.Prefix
	// Pending reports that it is not known yet whether somebody else has one of the
	// ranges: shown addresses inside the ranges stay, and none is added.
	Pending bool
}

// Of is the reach of a binding, from its spec and its condition Network.
func Of(binding *v1alpha1.ClusterBinding) Reach {
	if binding.Spec.Network.Mode != v1alpha1.NetworkRouted {
		return Reach{}
	}
	condition := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingNetwork)
	if condition == nil || condition.ObservedGeneration != binding.Generation {
		return Reach{Ranges: ranges(binding), Pending: true}
	}
	if condition.Status != metav1.ConditionTrue {
		return Reach{}
	}
	return Reach{Ranges: ranges(binding)}
}

// Equal reports whether the same is shown.
func (r Reach) Equal(other Reach) bool {
	return r.Pending == other.Pending && slices.Equal(r.Ranges, other.Ranges)
}

// Shows reports whether an address may be shown.
func (r Reach) Shows(ip netip.Addr) bool {
	return IsOfPods(ip) && slices.ContainsFunc(r.Ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// IsOfPods reports whether an address can be a pod's at all. The others mean something
// different on each node. Forms that programs read in different ways, such as
// ::ffff:10.0.0.1, do not count.
func IsOfPods(ip netip.Addr) bool {
	return ip.IsValid() && ip.Zone() == "" && !ip.Is4In6() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast()
}

// ranges are those of the binding. Admission has checked them; an invalid one contains
// no address.
func ranges(binding *v1alpha1.ClusterBinding) []netip.Prefix {
	var all []netip.Prefix
	for _, cidr := range binding.Spec.Network.PodCIDRs {
		if prefix, err := netip.ParsePrefix(string(cidr)); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}
