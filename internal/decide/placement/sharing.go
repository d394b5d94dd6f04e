package placement

import (
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// SameProvider reports whether two bindings with different clusterIDs are known to lead to the same provider.
// The provider claims it, and one certificate authority vouches for both; it would not vouch for another
// cluster. A binding that is not connected at the moment counts too, because its objects in the provider
// still exist.
func SameProvider(a, b *v1alpha1.ClusterBinding) bool {
	vouchesForB := func(authority string) bool { return slices.Contains(b.Status.RemoteClusterAuthorities, authority) }
	return SameIdentity(a, b) && slices.ContainsFunc(a.Status.RemoteClusterAuthorities, vouchesForB)
}

// SameIdentity reports whether the providers of two bindings with different clusterIDs claim to be the same.
// That is no proof, because a UID is no secret.
func SameIdentity(a, b *v1alpha1.ClusterBinding) bool {
	return a.Spec.ClusterID != b.Spec.ClusterID &&
		a.Status.RemoteClusterUID != "" && a.Status.RemoteClusterUID == b.Status.RemoteClusterUID
}

// Identified reports whether the identity of a binding's provider has become known, or has changed.
func Identified(before, after *v1alpha1.ClusterBinding) bool {
	return before.Status.RemoteClusterUID != after.Status.RemoteClusterUID ||
		!slices.Equal(before.Status.RemoteClusterAuthorities, after.Status.RemoteClusterAuthorities)
}
