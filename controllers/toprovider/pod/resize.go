package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/internal/field"
)

// resized returns remote with the CPU and memory that local asks for, for each part that has changed.
// It returns nil if remote already has them.
func resized(remote *corev1.Pod, local *corev1.PodSpec, changed sets.Set[string]) *corev1.Pod {
	if !slices.ContainsFunc(changed.UnsortedList(), func(part string) bool { return strings.HasPrefix(part, partResources) }) {
		return nil
	}
	pod := remote.DeepCopy()
	differs := false
	if changed.Has(partResources) && local.Resources != nil && pod.Spec.Resources != nil {
		differs = resize(pod.Spec.Resources, local.Resources)
	}
	for i := range local.InitContainers {
		if c := &local.InitContainers[i]; isSidecar(c) {
			differs = resizeContainer(pod.Spec.InitContainers, c, changed) || differs
		}
	}
	for i := range local.Containers {
		differs = resizeContainer(pod.Spec.Containers, &local.Containers[i], changed) || differs
	}
	if !differs {
		return nil
	}
	return pod
}

func resizeContainer(remote []corev1.Container, local *corev1.Container, changed sets.Set[string]) bool {
	c := byName(remote, local.Name)
	return c != nil && changed.Has(partResourcesOf+c.Name) && resize(&c.Resources, &local.Resources)
}

// resize sets CPU and memory, and reports whether that changed anything. A quantity that local does not
// set stays. It may be a default of the provider, and Kubernetes refuses to remove a request or a
// limit.
func resize(remote, local *corev1.ResourceRequirements) bool {
	requests := resizeList(&remote.Requests, local.Requests)
	limits := resizeList(&remote.Limits, local.Limits)
	return requests || limits
}

// resizeList is resize for one list. It skips a quantity that may not be sent: see podQuantities.
func resizeList(remote *corev1.ResourceList, local corev1.ResourceList) bool {
	differs := false
	for _, name := range field.Resizable {
		wanted, set := local[name]
		if !set || !field.IsBounded(wanted) {
			continue
		}
		if has, there := (*remote)[name]; there && has.Cmp(wanted) == 0 {
			continue
		}
		if *remote == nil {
			*remote = corev1.ResourceList{}
		}
		(*remote)[name] = wanted.DeepCopy()
		differs = true
	}
	return differs
}

// isSidecar reports whether an init container runs as long as the pod. Such a container can be resized.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
