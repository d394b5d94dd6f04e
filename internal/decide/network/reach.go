// Package network decides, without any I/O, which addresses of a provider's pods
// the consumer shows in the status of its own.
//
// An address in a pod's status is one that Services, and whoever trusts them, send
// to. A provider could name any: one that nobody here can reach, one of a pod of
// the consumer, or one that a node has for itself. So none is shown, unless the
// ClusterBinding says which ranges are the provider's, and no one else has those.
package network

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/seeded"
)

// Reach says which addresses are shown. The zero value shows none.
type Reach struct {
	// Ranges hold all addresses that may be shown.
	Ranges []netip.Prefix
	// Pending tells that it is not known yet whether somebody else has one of the
	// ranges: what is shown stays, as far as it is in them, and nothing is added.
	Pending bool
}

// Of is what a binding and its condition Network say.
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
	if seeded.On(seeded.AddressTakenAtItsWord) {
		return true
	}
	return IsOfPods(ip) && slices.ContainsFunc(r.Ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// IsOfPods reports whether an address can be a pod's at all. The others mean
// something else to each node that sends to them. Forms that programs read in
// different ways, such as ::ffff:10.0.0.1, are none.
func IsOfPods(ip netip.Addr) bool {
	return ip.IsValid() && ip.Zone() == "" && !ip.Is4In6() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast()
}

// ranges are those of the binding. Admission has checked them; one that cannot be
// read all the same holds no address.
func ranges(binding *v1alpha1.ClusterBinding) []netip.Prefix {
	var all []netip.Prefix
	for _, cidr := range binding.Spec.Network.PodCIDRs {
		if prefix, err := netip.ParsePrefix(string(cidr)); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}
