package translate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// SetObserved records in a status that PodStatus has made which generation of local it
// reflects, as a kubelet does. It is for a local pod of which everything has been sent:
// then its generation is observed once the provider has observed that of remote, which
// what was sent has raised. A provider that does not say what it has observed counts as
// having done so as soon as it has started the pod.
//
// A kubelet says so in the conditions too, and of PodScheduled, which is not its own.
func SetObserved(status *corev1.PodStatus, local, remote *corev1.Pod) {
	observed := func(generation int64) bool {
		if generation == 0 {
			return remote.Status.StartTime != nil
		}
		return generation >= remote.Generation
	}
	all := observed(remote.Status.ObservedGeneration)
	if all {
		status.ObservedGeneration = local.Generation
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		from := find(remote.Status.Conditions, c.Type)
		switch {
		case slices.Contains(remoteConditions[:], c.Type) && from != nil && observed(from.ObservedGeneration),
			all && (c.Type == corev1.PodScheduled || c.Type == v1alpha1.PodOffloaded):
			c.ObservedGeneration = local.Generation
		}
	}
}
