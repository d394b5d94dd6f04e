package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Index is a list of ClusterBindings that have been compared with each other once. The zero value has none.
// The bindings are shared, and must not be changed.
type Index struct {
	holders map[string]*v1alpha1.ClusterBinding // By clusterID.
	usable  []*v1alpha1.ClusterBinding          // The holders, sorted by clusterID.
	// identities are the usable bindings that are not being deleted, oldest first, by the UID that their
	// providers claim.
	identities map[string][]*v1alpha1.ClusterBinding
}

// NewIndex compares bindings.
func NewIndex(all []v1alpha1.ClusterBinding) Index {
	of := make([]*v1alpha1.ClusterBinding, len(all))
	for n := range all {
		of[n] = &all[n]
	}
	return IndexOf(of)
}

// IndexOf is NewIndex for pointers.
func IndexOf(all []*v1alpha1.ClusterBinding) Index {
	i := Index{holders: make(map[string]*v1alpha1.ClusterBinding, len(all)), identities: map[string][]*v1alpha1.ClusterBinding{}}
	for _, b := range all {
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

// Holder returns the name of the ClusterBinding that owns a clusterID, or "". That is the oldest one with it
// or, among bindings created in the same second, the first by name. The others are duplicates, and nothing is
// offloaded through them.
func (i Index) Holder(clusterID string) string {
	if holder, ok := i.holders[clusterID]; ok {
		return holder.Name
	}
	return ""
}

// Usable returns the bindings that hold their clusterID, sorted by clusterID.
func (i Index) Usable() []*v1alpha1.ClusterBinding { return i.usable }

// Oldest returns the usable bindings, oldest first.
func (i Index) Oldest() []*v1alpha1.ClusterBinding {
	return slices.SortedFunc(slices.Values(i.usable), Older)
}

// Older returns the older bindings that lead to the same provider under other clusterIDs, oldest first. They
// take precedence. A binding that is being deleted does not count.
func (i Index) Older(binding *v1alpha1.ClusterBinding) []*v1alpha1.ClusterBinding {
	return i.identical(binding, func(other *v1alpha1.ClusterBinding) bool {
		return SameProvider(binding, other) && Older(other, binding) < 0
	})
}

// Contradicting returns the bindings whose providers claim to be this binding's provider without proof,
// oldest first. They get none of its capacity.
func (i Index) Contradicting(binding *v1alpha1.ClusterBinding) []*v1alpha1.ClusterBinding {
	return i.identical(binding, func(other *v1alpha1.ClusterBinding) bool {
		return SameIdentity(binding, other) && !SameProvider(binding, other)
	})
}

// identical returns the bindings whose providers claim to be this binding's, if matches is true for them.
func (i Index) identical(binding *v1alpha1.ClusterBinding, matches func(*v1alpha1.ClusterBinding) bool) []*v1alpha1.ClusterBinding {
	var found []*v1alpha1.ClusterBinding
	for _, other := range i.identities[binding.Status.RemoteClusterUID] {
		if matches(other) {
			found = append(found, other)
		}
	}
	return found
}
