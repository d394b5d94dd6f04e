package decide

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// An object of the consumer is protected for a provider while it has, or should have, copies there. A label
// makes the binding's view hold the object. An annotation says where the copies are. A finalizer keeps the
// object until the copies are gone.
//
// One patch without a resource version writes all three. Several bindings protect one object at the
// same time, each with its own keys, and the API server merges them.

// protect adds the label, the annotation and the finalizer.
func protect(local Object, clusterID string, locations []string) {
	local.SetLabels(With(local.GetLabels(), v1alpha1.LabelSyncedTo+clusterID, v1alpha1.SyncedToTrue))
	local.SetAnnotations(With(local.GetAnnotations(), v1alpha1.AnnotationRemote+clusterID, strings.Join(locations, ",")))
	if finalizer := v1alpha1.FinalizerSync + clusterID; !slices.Contains(local.GetFinalizers(), finalizer) {
		local.SetFinalizers(append(slices.Clone(local.GetFinalizers()), finalizer))
	}
}

// isProtectedAt reports whether an object has the label, the finalizer, and the annotation with exactly these
// locations.
func isProtectedAt(local metav1.Object, clusterID string, locations []string) bool {
	return local.GetLabels()[v1alpha1.LabelSyncedTo+clusterID] == v1alpha1.SyncedToTrue &&
		local.GetAnnotations()[v1alpha1.AnnotationRemote+clusterID] == strings.Join(locations, ",") &&
		slices.Contains(local.GetFinalizers(), v1alpha1.FinalizerSync+clusterID)
}

// IsProtected reports whether an object has the label or the finalizer. Each of them makes Spillway handle the
// object.
func IsProtected(local metav1.Object, clusterID string) bool {
	_, labelled := local.GetLabels()[v1alpha1.LabelSyncedTo+clusterID]
	return labelled || slices.Contains(local.GetFinalizers(), v1alpha1.FinalizerSync+clusterID)
}

// MarkedFor returns the clusterIDs for which IsProtected is true, sorted.
func MarkedFor(local metav1.Object) []string {
	var all []string
	add := func(key, prefix string) {
		if clusterID, ours := strings.CutPrefix(key, prefix); ours && !slices.Contains(all, clusterID) {
			all = append(all, clusterID)
		}
	}
	for key := range local.GetLabels() {
		add(key, v1alpha1.LabelSyncedTo)
	}
	for _, finalizer := range local.GetFinalizers() {
		add(finalizer, v1alpha1.FinalizerSync)
	}
	slices.Sort(all)
	return all
}

// Unprotect removes the label, the annotation and the finalizer, and reports whether the object had any of them.
func Unprotect(local metav1.Object, clusterID string) bool {
	labels, annotations, finalizers := local.GetLabels(), local.GetAnnotations(), local.GetFinalizers()
	local.SetLabels(without(labels, v1alpha1.LabelSyncedTo+clusterID))
	local.SetAnnotations(without(annotations, v1alpha1.AnnotationRemote+clusterID))
	left := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == v1alpha1.FinalizerSync+clusterID })
	local.SetFinalizers(left)
	return len(left) != len(finalizers) ||
		len(local.GetLabels()) != len(labels) || len(local.GetAnnotations()) != len(annotations)
}

// without returns a copy of a map without a key.
func without(all map[string]string, key string) map[string]string {
	less := maps.Clone(all)
	delete(less, key)
	return less
}

// CopyMetadata copies the metadata that the engine reads and writes.
func CopyMetadata(into, from metav1.Object) {
	into.SetNamespace(from.GetNamespace())
	into.SetName(from.GetName())
	into.SetUID(from.GetUID())
	into.SetResourceVersion(from.GetResourceVersion())
	into.SetDeletionTimestamp(from.GetDeletionTimestamp())
	into.SetLabels(maps.Clone(from.GetLabels()))
	into.SetAnnotations(maps.Clone(from.GetAnnotations()))
	into.SetFinalizers(slices.Clone(from.GetFinalizers()))
}
