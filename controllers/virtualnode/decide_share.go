package virtualnode

import (
	"math/bits"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// share returns the capacity of the virtual node of a group. The limits of the binding, and the shares of older
// bindings, are about the whole provider. So each group gets its part of what is left, in proportion to its nodes.
func share(binding *v1alpha1.ClusterBinding, group, whole Offer) corev1.ResourceList {
	return inProportion(capacity(group, nil), remainingCapacity(binding, whole), capacity(whole, nil))
}

// shareOfFree returns the part of the node's capacity that other pods leave, in proportion to what they leave on the
// nodes of the group.
func shareOfFree(binding *v1alpha1.ClusterBinding, group, whole Offer) corev1.ResourceList {
	free := sum(whole, whole.left)
	own := inProportion(sum(group, group.left), remaining(binding, whole, sum(whole, whole.left)), free)
	return least(own, remainingCapacity(binding, group))
}

// inProportion returns own × rest / all of each resource that is in rest.
func inProportion(own, rest, all corev1.ResourceList) corev1.ResourceList {
	for name, quantity := range own {
		left, shown := rest[name]
		if !shown {
			delete(own, name)
			continue
		}
		own[name] = portion(name, quantity, left, all[name])
	}
	return own
}

// portion returns part × left / all, rounded down. Left is at most all, and part too.
func portion(name corev1.ResourceName, part, left, all resource.Quantity) resource.Quantity {
	const largestMilli = 1 << 53
	switch {
	case left.Cmp(all) >= 0:
		return part
	case name == corev1.ResourceCPU && all.Value() < largestMilli/1000:
		return *resource.NewMilliQuantity(scaled(part.MilliValue(), left.MilliValue(), all.MilliValue()), part.Format)
	default:
		return *resource.NewQuantity(scaled(part.Value(), left.Value(), all.Value()), part.Format)
	}
}

// scaled returns part × left / all without an overflow.
func scaled(part, left, all int64) int64 {
	if part <= 0 || left <= 0 || all <= 0 || left > all {
		return max(0, min(part, left))
	}
	high, low := bits.Mul64(uint64(part), uint64(left))
	quotient, _ := bits.Div64(high, low, uint64(all)) // It fits: left is at most all.
	return int64(min(quotient, uint64(part)))
}
