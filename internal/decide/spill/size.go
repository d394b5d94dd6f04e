package spill

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// SizeOf returns what a pod requests.
func SizeOf(pod *corev1.Pod) Size {
	return SizeOfList(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))
}

// Requests returns the size as requests of a pod.
func (s Size) Requests() corev1.ResourceList {
	if len(s) == 0 {
		return nil
	}
	requests := corev1.ResourceList{}
	for _, a := range s {
		quantity := resource.NewQuantity(a.Value, resource.DecimalSI)
		switch {
		case a.Name == corev1.ResourceCPU:
			quantity = resource.NewMilliQuantity(a.Value, resource.DecimalSI)
		case a.Value%(1<<20) == 0:
			quantity = resource.NewQuantity(a.Value, resource.BinarySI)
		}
		requests[a.Name] = *quantity
	}
	return requests
}

// String lists the amounts: cpu 500m, memory 1Gi.
func (s Size) String() string {
	requests, parts := s.Requests(), make([]string, len(s))
	for i, a := range s {
		quantity := requests[a.Name]
		parts[i] = string(a.Name) + " " + quantity.String()
	}
	return strings.Join(parts, ", ")
}
