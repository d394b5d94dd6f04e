package placement

import (
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Sharing are the bindings, oldest first, that are older than this one and lead to the
// same provider under other clusterIDs. They take precedence. One that is being deleted
// has nothing any more.
func Sharing(binding *v1alpha1.ClusterBinding, all []v1alpha1.ClusterBinding) []*v1alpha1.ClusterBinding {
	var older []*v1alpha1.ClusterBinding
	for _, other := range Usable(all) {
		if SameProvider(binding, other) && other.DeletionTimestamp.IsZero() && Older(other, binding) < 0 {
			older = append(older, other)
		}
	}
	slices.SortFunc(older, Older)
	return older
}

// Contradicting are the bindings, oldest first, whose providers claim to be this
// binding's, and cannot be shown to be. They get nothing of it.
func Contradicting(binding *v1alpha1.ClusterBinding, all []v1alpha1.ClusterBinding) []*v1alpha1.ClusterBinding {
	var others []*v1alpha1.ClusterBinding
	for _, other := range Usable(all) {
		if SameIdentity(binding, other) && !SameProvider(binding, other) && other.DeletionTimestamp.IsZero() {
			others = append(others, other)
		}
	}
	slices.SortFunc(others, Older)
	return others
}

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
