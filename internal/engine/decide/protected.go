package decide

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// ProtectedFor returns the clusterIDs whose finalizer an object has.
func ProtectedFor(local metav1.Object) []string {
	var all []string
	for _, finalizer := range local.GetFinalizers() {
		if clusterID, ours := strings.CutPrefix(finalizer, v1alpha1.FinalizerSync); ours {
			all = append(all, clusterID)
		}
	}
	return all
}

// Release removes the protection from an object that is being deleted, for each provider that no manager works
// for. It reports whether it removed any. So a provider that is away, or that no ClusterBinding names, does not
// hold up the deletion. When the provider is back, Spillway finds a remaining copy by its mark.
func Release(local metav1.Object, worked func(clusterID string) bool) bool {
	if local.GetDeletionTimestamp().IsZero() {
		return false
	}
	released := false
	for _, clusterID := range ProtectedFor(local) {
		released = !worked(clusterID) && Unprotect(local, clusterID) || released
	}
	return released
}
