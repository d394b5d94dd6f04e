package placement

import (
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// SameProvider reports whether two bindings are known to lead to the same provider
// under different clusterIDs: it says so, and an authority vouches for both that would
// not vouch for anybody else. It makes no difference whether one of them is connected
// at the moment: what it has in the provider is still there.
func SameProvider(a, b *v1alpha1.ClusterBinding) bool {
	vouchesForB := func(authority string) bool { return slices.Contains(b.Status.RemoteClusterAuthorities, authority) }
	return SameIdentity(a, b) && slices.ContainsFunc(a.Status.RemoteClusterAuthorities, vouchesForB)
}

// SameIdentity reports whether the providers of two bindings under different clusterIDs
// claim to be the same. A UID is no secret.
func SameIdentity(a, b *v1alpha1.ClusterBinding) bool {
	return a.Spec.ClusterID != b.Spec.ClusterID &&
		a.Status.RemoteClusterUID != "" && a.Status.RemoteClusterUID == b.Status.RemoteClusterUID
}

// Identified reports whether it became known, or changed, which provider a binding
// leads to.
func Identified(before, after *v1alpha1.ClusterBinding) bool {
	return before.Status.RemoteClusterUID != after.Status.RemoteClusterUID ||
		!slices.Equal(before.Status.RemoteClusterAuthorities, after.Status.RemoteClusterAuthorities)
}
