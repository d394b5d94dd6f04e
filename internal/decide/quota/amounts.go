package quota

import (
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
)

// Amounts are amounts of resources: CPUs in thousandths, all others whole. Requests have the plain name of the
// resource, such as cpu. Limits have the prefix "limits.".
type Amounts map[corev1.ResourceName]int64

const limits = "limits."

// Of returns what a pod counts, as a ResourceQuota of Kubernetes does: its requests and limits, and one pod. It reads the
// spec only: what the provider says about the pod does not count.
func Of(pod *corev1.Pod) Amounts {
	of := Amounts{corev1.ResourcePods: 1}
	for name, quantity := range podresource.PodRequests(pod, podresource.PodResourcesOptions{}) {
		of.set(name, quantity, mostOfPod)
	}
	for name, quantity := range podresource.PodLimits(pod, podresource.PodResourcesOptions{}) {
		if slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}, name) {
			of.set(limits+name, quantity, mostOfPod)
		}
	}
	return of
}

// allowed returns what a list of spec.quota allows. If it has a resource with and without the prefix "requests.", the
// smaller amount counts.
func allowed(hard corev1.ResourceList) Amounts {
	all := Amounts{}
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		plain := Plain(name)
		before, twice := all[plain]
		all.set(plain, hard[name], math.MaxInt64)
		if twice {
			all[plain] = min(before, all[plain])
		}
	}
	return all
}

// Plain returns the name under which a resource of spec.quota is counted.
func Plain(name corev1.ResourceName) corev1.ResourceName {
	return corev1.ResourceName(strings.TrimPrefix(string(name), "requests."))
}

func isCPU(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == limits+corev1.ResourceCPU
}

// mostOfPod is the most that is counted for a pod. The sum of 16,000 pods is no overflow.
const mostOfPod = 1 << 49

// set sets an amount, or most, if it is greater: apimachinery makes 0 of what does not fit into an int64.
func (a Amounts) set(name corev1.ResourceName, quantity resource.Quantity, most int64) {
	switch cpu := isCPU(name); {
	case cpu && quantity.CmpInt64(most/1000) >= 0, !cpu && quantity.CmpInt64(most) >= 0:
		a[name] = most
	case cpu:
		a[name] = quantity.MilliValue()
	default:
		a[name] = quantity.Value()
	}
}

// plus adds other, times times.
func (a Amounts) plus(other Amounts, times int64) {
	for name, value := range other {
		a[name] += times * value
	}
}

// Quantity returns an amount as a quantity.
func (a Amounts) Quantity(name corev1.ResourceName) resource.Quantity {
	value := a[name]
	plain := strings.TrimPrefix(string(name), limits)
	switch {
	case isCPU(name):
		return *resource.NewMilliQuantity(value, resource.DecimalSI)
	case plain == string(corev1.ResourceMemory), plain == string(corev1.ResourceEphemeralStorage), strings.HasPrefix(plain, corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(value, resource.BinarySI)
	}
	return *resource.NewQuantity(value, resource.DecimalSI)
}

// shared returns the names that are in both, sorted.
func (a Amounts) shared(with Amounts) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name := range a {
		if _, both := with[name]; both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
