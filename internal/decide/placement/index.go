package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Index is a list of ClusterBindings that have been compared with each other once; the zero
// value has none. The bindings are shared, and must not be changed.
type Index struct {
	holders map[string]*v1alpha1.ClusterBinding // By clusterID.
	usable  []*v1alpha1.ClusterBinding          // The holders, sorted by clusterID.
	// identities are the usable ones that are not being deleted, oldest first, by the UID
	// that their providers claim.
	identities map[string][]*v1alpha1.ClusterBinding
}

// NewIndex compares bindings.
func NewIndex(all []v1alpha1.ClusterBinding) Index {
	i := Index{holders: make(map[string]*v1alpha1.ClusterBinding, len(all)), identities: map[string][]*v1alpha1.ClusterBinding{}}
	for n := range all {
		b := &all[n]
		if held, ok := i.holders[b.Spec.ClusterID]; !ok || Older(b, held) < 0 {
			i.holders[b.Spec.ClusterID] = b
		}
	}
	i.usable = slices.SortedFunc(maps.Values(i.holders), func(a, b *v1alpha1.ClusterBinding) int {
		return cmp.Compare(a.Spec.ClusterID, b.Spec.ClusterID)
	})
	for _, b := range i.Oldest() {
		if uid := b.Status.RemoteClusterUID; uid != "" && b.DeletionTimestamp.IsZero() {
			i.identities[uid] = append(i.identities[uid], b)
		}
	}
	return i
}

// Holder is the name of the ClusterBinding that owns a clusterID: the oldest one with
// it, or, of those created in the same second, the first by name. The others are
// duplicates, and nothing is offloaded through them. "" if there is none.
func (i Index) Holder(clusterID string) string {
	if holder, ok := i.holders[clusterID]; ok {
		return holder.Name
	}
	return ""
}

// Usable are the bindings that hold their clusterID, sorted by clusterID.
func (i Index) Usable() []*v1alpha1.ClusterBinding { return i.usable }

// Oldest are the usable bindings, oldest first.
func (i Index) Oldest() []*v1alpha1.ClusterBinding {
	return slices.SortedFunc(slices.Values(i.usable), Older)
}

// Older are the bindings, oldest first, that are older than this one and lead to the
// same provider under other clusterIDs. They take precedence. One that is being deleted
// has nothing any more.
func (i Index) Older(binding *v1alpha1.ClusterBinding) []*v1alpha1.ClusterBinding {
	return i.identical(binding, func(other *v1alpha1.ClusterBinding) bool {
		return SameProvider(binding, other) && Older(other, binding) < 0
	})
}

// Contradicting are the bindings, oldest first, whose providers claim to be this
// binding's, and cannot be shown to be. They get nothing of it.
func (i Index) Contradicting(binding *v1alpha1.ClusterBinding) []*v1alpha1.ClusterBinding {
	return i.identical(binding, func(other *v1alpha1.ClusterBinding) bool {
		return SameIdentity(binding, other) && !SameProvider(binding, other)
	})
}

// identical are those of the bindings whose providers claim to be this binding's.
func (i Index) identical(binding *v1alpha1.ClusterBinding, matches func(*v1alpha1.ClusterBinding) bool) []*v1alpha1.ClusterBinding {
	var found []*v1alpha1.ClusterBinding
	for _, other := range i.identities[binding.Status.RemoteClusterUID] {
		if matches(other) {
			found = append(found, other)
		}
	}
	return found
}
