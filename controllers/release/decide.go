package release

import (
	"iter"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/field"
)

// observed is what the decisions depend on.
type observed struct {
	bindings []v1alpha1.ClusterBinding
	maps     []v1alpha1.NamespaceMap
}

// protectors returns the clusterIDs whose finalizer keeps a deleted object.
func protectors(object metav1.Object) []string {
	if object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return clusterIDs(slices.Values(object.GetFinalizers()), v1alpha1.FinalizerSync)
}

// mayProtect reports whether a deleted object waits for a provider: a ClusterBinding names the provider, and it
// is not away. A PersistentVolume that stands for one in the provider waits until the provider is back: nothing else
// says what becomes of the data there.
func (o observed) mayProtect(clusterID string, object metav1.Object) bool {
	return slices.ContainsFunc(o.bindings, func(b v1alpha1.ClusterBinding) bool {
		return b.Spec.ClusterID == clusterID && (!away(&b) || field.StandsForRemote(object, clusterID))
	})
}

func away(binding *v1alpha1.ClusterBinding) bool {
	reason, _ := namespaceoffloading.Away(binding)
	return reason != "" && reason != v1alpha1.ReasonPaused
}

// addressReporters returns the clusterIDs of the providers that have reported addresses of an object.
func addressReporters(object metav1.Object) []string {
	return clusterIDs(maps.Keys(object.GetAnnotations()), v1alpha1.AnnotationAddressesPrefix)
}

// mayReport reports whether a provider may report on objects of a namespace: it may have a remote namespace for
// it. Without a NamespaceMap, that is unknown.
func (o observed) mayReport(clusterID string, object metav1.Object) bool {
	namespace := object.GetNamespace()
	return slices.ContainsFunc(o.bindings, func(b v1alpha1.ClusterBinding) bool {
		if b.Spec.ClusterID != clusterID {
			return false
		}
		i := slices.IndexFunc(o.maps, func(m v1alpha1.NamespaceMap) bool { return m.Name == b.Name })
		return b.Spec.Paused || i < 0 ||
			slices.ContainsFunc(o.maps[i].Spec.DesiredMapping, func(d v1alpha1.DesiredMapping) bool { return d.Namespace == namespace }) ||
			slices.ContainsFunc(o.maps[i].Status.CurrentMapping, func(c v1alpha1.CurrentMapping) bool { return c.Namespace == namespace })
	})
}

// clusterIDs returns what follows a prefix, sorted.
func clusterIDs(all iter.Seq[string], prefix string) []string {
	var ids []string
	for key := range all {
		if clusterID, ours := strings.CutPrefix(key, prefix); ours {
			ids = append(ids, clusterID)
		}
	}
	slices.Sort(ids)
	return ids
}
