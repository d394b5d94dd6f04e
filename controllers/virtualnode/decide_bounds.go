package virtualnode

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxResources is how many resources a virtual node offers. A provider has about ten. Each name is written
// into a Node of the consumer, and is in its scheduler's memory.
const maxResources = 64

// offered reports whether a provider's resource may be shown. It may not if its name is invalid or its
// quantity negative.
func offered(name corev1.ResourceName, quantity resource.Quantity) bool {
	return quantity.Sign() >= 0 && len(validation.IsQualifiedName(string(name))) == 0
}

// bounded keeps the resources that every node has, then the first by name. It always keeps the same ones,
// because otherwise each reconcile would write others.
func bounded(total corev1.ResourceList) corev1.ResourceList {
	if len(total) <= maxResources {
		return total
	}
	kept := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage} {
		if quantity, ok := total[name]; ok {
			kept[name] = quantity
		}
	}
	names := make([]corev1.ResourceName, 0, len(total))
	for name := range total {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if len(kept) == maxResources {
			break
		}
		kept[name] = total[name]
	}
	return kept
}
