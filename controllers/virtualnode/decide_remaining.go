package virtualnode

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// remainingCapacity returns the capacity of a binding's virtual node, given the older bindings of the same
// provider, oldest first. Each binding offers its own capacity, but no more than the older ones leave.
func remainingCapacity(binding *v1alpha1.ClusterBinding, offer Offer) corev1.ResourceList {
	if offer.Rooms != nil {
		return maps.Clone(offer.Rooms[offer.Member.Name].Capacity)
	}
	all := total(offer)
	return remaining(binding, offer, all, maps.Clone(all))
}

// remaining returns what the binding gets of rest. All is what the nodes have.
func remaining(binding *v1alpha1.ClusterBinding, offer Offer, all, rest corev1.ResourceList) corev1.ResourceList {
	for _, other := range offer.Older {
		taken := least(capacity(offer.canHave(other, all), other.Spec.VirtualNode.Capacity), rest)
		for name, quantity := range taken {
			remaining := rest[name]
			remaining.Sub(quantity)
			rest[name] = remaining
		}
	}
	return without(least(capacity(all, binding.Spec.VirtualNode.Capacity), rest), offer.Used)
}

// without subtracts what is used, down to nothing. CPUs are counted in thousandths.
func without(offer corev1.ResourceList, used spill.Size) corev1.ResourceList {
	for _, amount := range used {
		quantity, offered := offer[amount.Name]
		if !offered {
			continue
		}
		taken := resource.NewQuantity(amount.Value, quantity.Format)
		if amount.Name == corev1.ResourceCPU {
			taken = resource.NewMilliQuantity(amount.Value, quantity.Format)
		}
		if quantity.Sub(*taken); quantity.Sign() < 0 {
			quantity = *resource.NewQuantity(0, quantity.Format)
		}
		offer[amount.Name] = quantity
	}
	return offer
}

// least returns the smaller quantity of each resource.
func least(offer, rest corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range offer {
		if most := rest[name]; quantity.Cmp(most) > 0 {
			offer[name] = most
		}
	}
	return offer
}
