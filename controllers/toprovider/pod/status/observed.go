package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// SetObserved records which generation of local a status of Of reflects, as a kubelet does. Call it only when all of local has been sent.
//
// A change of the spec that is sent raises remote's generation. So local's generation counts as
// observed once the provider has observed remote's. If a provider does not report what it observed,
// this counts once it has started the pod.
//
// A kubelet also records it in conditions, even in PodScheduled, which it does not own.
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
