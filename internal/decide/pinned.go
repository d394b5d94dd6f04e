package decide

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// PinnedFor are the clusterIDs whose finalizer an object has.
func PinnedFor(local metav1.Object) []string {
	var all []string
	for _, finalizer := range local.GetFinalizers() {
		if clusterID, ours := strings.CutPrefix(finalizer, v1alpha1.FinalizerSync); ours {
			all = append(all, clusterID)
		}
	}
	return all
}

// Release takes the pins of providers that nobody works for off an object that is being
// deleted, and reports whether there were any: no provider that is away, or that no
// ClusterBinding names, holds the object. A copy that is left is found by its mark when
// the provider is back.
func Release(local metav1.Object, worked func(clusterID string) bool) bool {
	if local.GetDeletionTimestamp().IsZero() {
		return false
	}
	released := false
	for _, clusterID := range PinnedFor(local) {
		released = !worked(clusterID) && Unpin(local, clusterID) || released
	}
	return released
}
