// Package network decides, without any I/O, which addresses of a provider's pods the consumer shows in the
// status of its own pods.
//
// Services, and programs that rely on them, send traffic to the address in a pod's status. A provider could
// report any address: one that nobody in the consumer can reach, one of a consumer's pod, or one that each
// node uses itself. So no address is shown unless the ClusterBinding lists the provider's ranges, and nobody
// else uses them.
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
	// Pending reports that it is not known yet whether somebody else uses one of the ranges. Addresses in the
	// ranges that are already shown stay, and none is added.
	Pending bool
}

// Of returns the reach of a binding, from its spec and its condition Network.
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

// Equal reports whether both show the same addresses.
func (r Reach) Equal(other Reach) bool {
	return r.Pending == other.Pending && slices.Equal(r.Ranges, other.Ranges)
}

// Shows reports whether an address may be shown.
func (r Reach) Shows(ip netip.Addr) bool {
	return IsOfPods(ip) && slices.ContainsFunc(r.Ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// IsOfPods reports whether an address can belong to a pod at all. Other addresses mean something different on
// each node. Forms that programs read in different ways, such as ::ffff:10.0.0.1, do not count.
func IsOfPods(ip netip.Addr) bool {
	return ip.IsValid() && ip.Zone() == "" && !ip.Is4In6() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast()
}

// ranges returns the ranges of the binding. Admission has checked them; an invalid range contains no address.
func ranges(binding *v1alpha1.ClusterBinding) []netip.Prefix {
	var all []netip.Prefix
	for _, cidr := range binding.Spec.Network.PodCIDRs {
		if prefix, err := netip.ParsePrefix(string(cidr)); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}
