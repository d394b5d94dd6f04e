package spill

import (
	"math"

	corev1 "k8s.io/api/core/v1"
)

// smallPart is which part of the capacity a small change is less than: 5%.
const smallPart = 20

// Similar reports whether what is shown differs from what is left by less than a small part of all. To have something or
// nothing of a resource is no small difference.
func Similar(shown, left, all corev1.ResourceList) bool {
	if len(shown) != len(left) {
		return false
	}
	for name, quantity := range left {
		before, has := shown[name]
		if !has || before.IsZero() != quantity.IsZero() {
			return false
		}
		change, most := quantity.DeepCopy(), all[name]
		change.Sub(before)
		if math.Abs(change.AsApproximateFloat64())*smallPart > most.AsApproximateFloat64() {
			return false
		}
	}
	return true
}
