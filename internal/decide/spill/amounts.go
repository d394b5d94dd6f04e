package spill

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
)

// InUse returns what the scheduler counts for a pod: its requests, and one pod. A pod that has ended counts
// nothing.
func InUse(pod *corev1.Pod) Size {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	requests := podresource.PodRequests(pod, podresource.PodResourcesOptions{UseStatusResources: true})
	requests[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return SizeOfList(requests)
}

// SizeOfList returns the amounts of a list, without those that are zero or less.
func SizeOfList(list corev1.ResourceList) Size {
	size := make(Size, 0, len(list))
	for name, quantity := range list {
		value := quantity.Value()
		if name == corev1.ResourceCPU {
			value = quantity.MilliValue()
		}
		if value > 0 {
			size = append(size, Amount{name, value})
		}
	}
	slices.SortFunc(size, func(a, b Amount) int { return cmp.Compare(a.Name, b.Name) })
	return size
}

// Plus returns the sum of each resource.
func (s Size) Plus(other Size) Size {
	sum := slices.Clone(s)
	for _, a := range other {
		if i := slices.IndexFunc(sum, func(b Amount) bool { return b.Name == a.Name }); i >= 0 {
			sum[i].Value += a.Value
		} else {
			sum = append(sum, a)
		}
	}
	slices.SortFunc(sum, func(a, b Amount) int { return cmp.Compare(a.Name, b.Name) })
	return sum
}

// Minus returns what is left of each resource, without those of which nothing is left.
func (s Size) Minus(other Size) Size {
	var left Size
	for _, a := range s {
		if a.Value -= other.of(a.Name); a.Value > 0 {
			left = append(left, a)
		}
	}
	return left
}

// Largest returns the greatest amount of each resource in any of them. No pod that requests more fits in one.
func Largest(sizes []Size) Size {
	var largest Size
	for _, size := range sizes {
		for _, a := range size {
			if i := slices.IndexFunc(largest, func(b Amount) bool { return b.Name == a.Name }); i < 0 {
				largest = append(largest, a)
			} else {
				largest[i].Value = max(largest[i].Value, a.Value)
			}
		}
	}
	slices.SortFunc(largest, func(a, b Amount) int { return cmp.Compare(a.Name, b.Name) })
	return largest
}

// Within returns the smaller amount of each resource.
func (s Size) Within(other Size) Size { return s.least(other) }
