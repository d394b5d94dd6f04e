package views

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Trim returns what a View keeps of an object. It drops fields that nobody reads. It also drops the content
// of ConfigMaps and Secrets, which the manager reads when it sends them. trimKind is the Trim of the object's kind,
// or nil. Applied to its own result Trim changes nothing, because a cache may apply it twice while others read
// the object.
func Trim(obj any, trimKind func(obj any, oversized bool)) any {
	object, ok := obj.(metav1.Object)
	if !ok {
		return obj
	}
	if len(object.GetManagedFields()) > 0 {
		object.SetManagedFields(nil)
	}
	if _, isPod := obj.(*corev1.Pod); isPod {
		return obj
	}
	if len(object.GetOwnerReferences()) > 0 {
		object.SetOwnerReferences(nil)
	}
	if trimKind != nil {
		trimKind(obj, false)
	}
	trimMap(object.GetLabels())
	trimMap(object.GetAnnotations())
	if held := finalizers(object.GetFinalizers()); len(held) < len(object.GetFinalizers()) {
		object.SetFinalizers(slices.Clone(held))
	}
	if field.MetadataSize(object) > field.MostMetadata {
		field.Shorten(object.GetAnnotations())
	}
	if field.MetadataSize(object) > field.MostMetadata {
		object.SetLabels(trimOwnKeys(object.GetLabels()))
		object.SetAnnotations(field.Shortened(trimOwnKeys(object.GetAnnotations())))
		if trimKind != nil {
			trimKind(obj, true)
		}
	}
	return field.WithoutContent(obj)
}

// trimMetadata keeps an object's identity, whether it is being deleted, and the labels and annotations that
// Spillway and its users write for each other. For a claim it also keeps whether it is bound, and the node
// and the driver that it waits for.
func trimMetadata(obj any) (any, error) {
	metadata, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	trimmed := &metav1.PartialObjectMetadata{TypeMeta: metadata.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: metadata.Namespace, Name: metadata.Name, UID: metadata.UID, ResourceVersion: metadata.ResourceVersion,
		DeletionTimestamp: metadata.DeletionTimestamp, Finalizers: slices.Clone(finalizers(metadata.Finalizers)),
		Labels: trimOwnKeys(metadata.Labels), Annotations: trimOwnKeys(metadata.Annotations),
	}}
	if metadata.Kind == "PersistentVolumeClaim" {
		for _, key := range []string{field.AnnotationBindCompleted, field.AnnotationSelectedNode, field.AnnotationStorageProvisioner} {
			if value, there := metadata.Annotations[key]; there && len(value) <= mostValue {
				metav1.SetMetaDataAnnotation(&trimmed.ObjectMeta, key, value)
			}
		}
	}
	return trimmed, nil
}

// mostValue is longer than any value that Spillway writes: the names of a few copies, or the addresses of a
// load balancer in one provider.
const mostValue = 4096

// known reports whether a decision uses this label or annotation of Spillway's domain. Anybody may write
// others, or longer ones.
func known(key, value string) bool {
	return len(value) <= mostValue &&
		(key == v1alpha1.LabelSync || strings.HasPrefix(key, v1alpha1.LabelSyncedTo) || strings.HasPrefix(key, v1alpha1.AnnotationRemote) ||
			strings.HasPrefix(key, v1alpha1.AnnotationAddressesPrefix) || key == v1alpha1.AnnotationProvider || key == v1alpha1.AnnotationRemoteClaim)
}

// trimOwnKeys keeps the known labels or annotations, up to field.MostMetadata. That is more than the marks of
// all bindings that one object can have.
func trimOwnKeys(all map[string]string) map[string]string {
	kept, size := map[string]string{}, 0
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if value := all[key]; known(key, value) && size <= field.MostMetadata {
			kept[key] = value
			size += field.EntrySize(key, value)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// trimMap removes what is neither sent nor read. For example, kubectl's last-applied annotation repeats the
// whole object.
func trimMap(all map[string]string) {
	own := trimOwnKeys(all)
	maps.DeleteFunc(all, func(key, _ string) bool {
		_, kept := own[key]
		return key == corev1.LastAppliedConfigAnnotation || field.IsOurs(key) && !kept
	})
}

// finalizers returns the first finalizers, up to field.MostMetadata, which is usually all. A patch of
// these leaves the others alone, as long as at least one of these stays.
func finalizers(all []string) []string {
	size := 0
	for i, name := range all {
		if size += field.EntrySize(name, ""); size > field.MostMetadata {
			return all[:i:i]
		}
	}
	return all
}
