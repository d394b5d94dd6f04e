package virtualnode

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Room is what a virtual node of a provider with groups shows: what it has, and what of it our pods may request.
type Room struct {
	Capacity, Free corev1.ResourceList
}

// divide returns the rooms of the virtual nodes of a provider, by name; nil if they form no groups. The limits of the
// binding, and the shares of older bindings, are about the whole provider. So each group gets its part of what is left, in
// proportion to its nodes. Each node is looked at once, however many groups there are. While it is not known how groups share
// what they can grow, a room is the most that there may be: see unshared.
func divide(binding *v1alpha1.ClusterBinding, whole Offer, groups []Group) map[string]Room {
	if len(groups) == 0 || len(groups[0].Labels) == 0 {
		return nil
	}
	rooms := map[string]Room{}
	has, left := make([]corev1.ResourceList, len(groups)), make([]corev1.ResourceList, len(groups))
	for i, group := range groups {
		own := whole.of(Member{Group: group})
		has[i], left[i] = total(own), sum(own, whole.left)
	}
	if whole.Unshared { // The sums would say nothing.
		for i, group := range groups {
			rooms[group.Name] = Room{Capacity: has[i], Free: left[i]}
		}
		return rooms
	}
	all, free := sumOf(has), sumOf(left)
	capacities := apportion(has, remaining(binding, whole, all, maps.Clone(all)))
	for i := range left {
		least(left[i], capacities[i])
	}
	for i, part := range apportion(left, remaining(binding, whole, all, free)) {
		rooms[groups[i].Name] = Room{Capacity: capacities[i], Free: part}
	}
	return rooms
}

func sumOf(parts []corev1.ResourceList) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, part := range parts {
		for name, quantity := range part {
			all := sum[name]
			all.Add(quantity)
			sum[name] = all
		}
	}
	return bounded(sum)
}

// apportion divides rest in proportion to the parts, which are sorted by the name of their group. No result is more than
// its part, and none has a resource that is not in rest. What is left after each result was rounded down goes, one by one,
// to the results that lost most by that; of equal ones, to the first. So a provider with one GPU in each of four groups shows
// half of them in two groups, and in the same ones each time.
func apportion(parts []corev1.ResourceList, rest corev1.ResourceList) []corev1.ResourceList {
	results := make([]corev1.ResourceList, len(parts))
	all := sumOf(parts)
	for i := range parts {
		results[i] = corev1.ResourceList{}
		for name, quantity := range parts[i] {
			if _, shown := rest[name]; shown {
				results[i][name] = quantity
			}
		}
	}
	for name, left := range rest {
		if most := all[name]; left.Cmp(most) < 0 {
			round(name, results, left, most)
		}
	}
	return results
}

// round replaces the amount of one resource in each list by its part of left, which is less than all of them have. CPUs
// are counted in thousandths.
func round(name corev1.ResourceName, lists []corev1.ResourceList, left, all resource.Quantity) {
	const largestMilli = 1 << 53
	count, quantity := (*resource.Quantity).Value, resource.NewQuantity
	if name == corev1.ResourceCPU && all.Value() < largestMilli/1000 {
		count, quantity = (*resource.Quantity).MilliValue, resource.NewMilliQuantity
	}
	type part struct {
		of          int
		value, lost uint64
	}
	var parts []part
	missing := uint64(max(0, count(&left)))
	for i := range lists {
		if own, has := lists[i][name]; has {
			value, lost := scaled(count(&own), count(&left), count(&all))
			missing -= min(missing, value)
			parts = append(parts, part{i, value, lost})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.lost, a.lost) })
	for _, p := range parts {
		if p.lost > 0 && missing > 0 {
			p.value, missing = p.value+1, missing-1
		}
		lists[p.of][name] = *quantity(int64(p.value), lists[p.of][name].Format) //nolint:gosec // It is less than what the list had.
	}
}

// scaled returns part × left / all without an overflow, rounded down, and the remainder. Left is less than all.
func scaled(part, left, all int64) (quotient, remainder uint64) {
	switch {
	case part <= 0 || left <= 0:
		return 0, 0
	case left >= all: // Only rounded up.
		return uint64(part), 0
	}
	high, low := bits.Mul64(uint64(part), uint64(left))
	return bits.Div64(high, low, uint64(all)) // It fits: left is less than all.
}
