package placement

import (
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Sharing are the bindings, oldest first, that were made before this one and lead
// to the same provider under other clusterIDs. What they have comes first. One that
// is being deleted has nothing any more.
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

// SameProvider reports whether two bindings are known to lead to the same provider
// under different clusterIDs.
func SameProvider(a, b *v1alpha1.ClusterBinding) bool {
	return a.Spec.ClusterID != b.Spec.ClusterID &&
		a.Status.RemoteClusterUID != "" && a.Status.RemoteClusterUID == b.Status.RemoteClusterUID
}
