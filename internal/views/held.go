package views

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

// Held is what a View keeps of an object: nothing that is never looked at, and of
// ConfigMaps and Secrets no content, which is read when it is to be sent. What it has
// made it leaves as it is: a cache may apply it twice, while others read it.
func Held(obj any) any {
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
	maps.DeleteFunc(object.GetLabels(), unread)
	maps.DeleteFunc(object.GetAnnotations(), unread)
	if translate.MetadataSize(object) > translate.MostMetadata {
		object.SetLabels(ours(object.GetLabels()))
		object.SetAnnotations(translate.Shortened(ours(object.GetAnnotations())))
	}
	return translate.WithoutContent(obj)
}

// trimMetadata keeps who an object is, that it is being deleted, and what
// Spillway and its users have written on it for each other.
func trimMetadata(obj any) (any, error) {
	metadata, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	trimmed := &metav1.PartialObjectMetadata{TypeMeta: metadata.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: metadata.Namespace, Name: metadata.Name, UID: metadata.UID, ResourceVersion: metadata.ResourceVersion,
		DeletionTimestamp: metadata.DeletionTimestamp, Finalizers: metadata.Finalizers,
		Labels: ours(metadata.Labels), Annotations: ours(metadata.Annotations),
	}}
	return trimmed, nil
}

// mostValue is longer than any value that Spillway writes: the names of a few copies.
const mostValue = 2048

// known tells whether a label or annotation of Spillway's domain is one that decisions
// look at. Others, and what is longer, anybody may have written.
func known(key, value string) bool {
	return len(value) <= mostValue &&
		(key == v1alpha1.LabelSync || strings.HasPrefix(key, v1alpha1.LabelSyncedTo) || strings.HasPrefix(key, v1alpha1.AnnotationRemote))
}

// unread tells of what is neither sent nor looked at. What kubectl has applied repeats
// the whole object.
func unread(key, value string) bool {
	return key == corev1.LastAppliedConfigAnnotation || translate.IsOurs(key) && !known(key, value)
}

// ours keeps what is known.
func ours(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if known(key, value) {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
