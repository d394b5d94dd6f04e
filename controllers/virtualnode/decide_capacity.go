package virtualnode

import (
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// total returns the sum of what the provider's nodes offer, and what new ones would. Nodes that are not ready, cordoned, tainted or virtual
// offer nothing, except to pods that request an extended resource: see nodes.Counting. The provider's values are
// limited: see offered and bounded.
func total(offer Offer) corev1.ResourceList {
	return sum(offer, func(node *corev1.Node) corev1.ResourceList { return node.Status.Allocatable })
}

// capacity returns the total, up to the limit for each resource. A limit is a quantity, or a percentage of the total.
func capacity(total corev1.ResourceList, limits map[corev1.ResourceName]intstr.IntOrString) corev1.ResourceList {
	total = maps.Clone(total)
	for name, limit := range limits {
		if sum, ok := total[name]; ok {
			total[name] = capped(name, sum, limit)
		}
	}
	return total
}

// sum adds up what each usable node has, as of returns it, and what new nodes would add.
func sum(offer Offer, of func(*corev1.Node) corev1.ResourceList) corev1.ResourceList {
	total, counting := corev1.ResourceList{}, offer.counting()
	for i := range offer.Nodes {
		node := &offer.Nodes[i]
		for name, quantity := range counting.Of(node, of(node)) {
			if !offered(name, quantity) {
				continue
			}
			sum := total[name]
			sum.Add(quantity)
			total[name] = sum
		}
	}
	for name, quantity := range offer.Growth {
		if offered(name, quantity) {
			plus(total, corev1.ResourceList{name: quantity})
		}
	}
	return bounded(total)
}

// capped applies a limit that the API has validated. An invalid limit caps to nothing, because the
// alternative would be everything.
func capped(name corev1.ResourceName, sum resource.Quantity, limit intstr.IntOrString) resource.Quantity {
	if percent, ok := strings.CutSuffix(limit.String(), "%"); ok {
		share, err := strconv.ParseInt(percent, 10, 64)
		if err != nil || share < 0 || share > 100 {
			share = 0
		}
		return percentage(name, sum, share)
	}
	most, err := resource.ParseQuantity(limit.String())
	if err != nil {
		most = resource.Quantity{}
	}
	if sum.Cmp(most) <= 0 {
		return sum
	}
	// Value rounds up.
	if up := resource.NewQuantity(most.Value(), most.Format); name != corev1.ResourceCPU && up.Cmp(most) > 0 {
		return *resource.NewQuantity(up.Value()-1, most.Format)
	}
	return most
}

// percentage computes CPUs in thousandths, so that 50% of three is one and a half. Other resources are whole:
// the API server refuses a Node with 36.3 pods, or with one and a half devices.
func percentage(name corev1.ResourceName, sum resource.Quantity, share int64) resource.Quantity {
	const largestMilli = 1 << 52 // This leaves room for the multiplication.
	if name == corev1.ResourceCPU && sum.Value() < largestMilli/1000 {
		return *resource.NewMilliQuantity(sum.MilliValue()*share/100, sum.Format)
	}
	value := sum.Value()
	return *resource.NewQuantity(value/100*share+value%100*share/100, sum.Format)
}

// shrinks reports whether the provider offers less of any resource than the node shows. The result nothing
// reports that the provider has no room for pods any more, and that the node does not show this yet. Small changes of
// what other pods leave do not count: see allocatable.
func shrinks(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) (less, nothing bool) {
	if frozen(binding) || offer.Unknown {
		return false, false
	}
	rest := allocatable(node, binding, offer)
	for name, shown := range node.Status.Allocatable {
		quantity := rest[name]
		less = less || quantity.Cmp(shown) < 0
	}
	return less, hasRoom(node.Status.Allocatable) && !hasRoom(rest)
}
