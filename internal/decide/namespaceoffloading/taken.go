package namespaceoffloading

import (
	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// TakenBy returns the name of an older binding of the same provider that the offloading selects, or "". A
// local namespace has one remote namespace in a provider. A second binding would only conflict with the name
// that the first one uses there.
func TakenBy(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, all placement.Index) string {
	for _, older := range all.Older(binding) {
		if Selects(nso, older) {
			return older.Name
		}
	}
	return ""
}

// GoesElsewhere reports whether the offloading's remote namespace should belong to an older binding of the
// provider, and this binding has none yet according to its map.
func GoesElsewhere(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, all placement.Index, nsm *v1alpha1.NamespaceMap) bool {
	return TakenBy(nso, binding, all) != "" && !exists(namespacemap.FindCurrent(nsm.Status.CurrentMapping, nso.Namespace))
}

// exists reports whether a remote namespace is known to exist. An existing one stays, whichever binding
// should have it.
func exists(current *v1alpha1.CurrentMapping) bool {
	return current != nil && current.Phase == v1alpha1.MappingAccepted
}
