package namespaceoffloading

import (
	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// TakenBy is the name of an older binding of the same provider that the offloading
// selects, or "". A local namespace has one remote namespace in a provider: through a
// second binding it would only conflict with the first one's name there.
func TakenBy(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, all placement.Index) string {
	for _, older := range all.Older(binding) {
		if Selects(nso, older) {
			return older.Name
		}
	}
	return ""
}

// GoesElsewhere reports whether the offloading's remote namespace should come from an
// older binding of the provider, and this one, with its map, has none yet.
func GoesElsewhere(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding, all placement.Index, nsm *v1alpha1.NamespaceMap) bool {
	return TakenBy(nso, binding, all) != "" && !isThere(namespacemap.FindCurrent(nsm.Status.CurrentMapping, nso.Namespace))
}

// isThere reports whether a remote namespace exists, as far as is known. An existing
// one stays, whichever binding should have it.
func isThere(current *v1alpha1.CurrentMapping) bool {
	return current != nil && current.Phase == v1alpha1.MappingAccepted
}
