package translate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MostMetadata is how many bytes of memory the labels and annotations of an object may
// take that is sent because pods need it. They are held, unlike content, and an API
// server takes more than a megabyte of labels.
const MostMetadata = 64 << 10

// MetadataSize is how many bytes of memory the labels and annotations of an object take, without
// Spillway's own, and without what kubectl has applied, which are not sent.
func MetadataSize(object metav1.Object) int {
	size := 0
	for _, all := range []map[string]string{object.GetLabels(), object.GetAnnotations()} {
		for key, value := range all {
			if !IsOurs(key) && key != corev1.LastAppliedConfigAnnotation {
				size += EntrySize(key, value)
			}
		}
	}
	return size
}

// EntrySize is how many bytes of memory a label or annotation takes.
func EntrySize(key, value string) int { return len(key) + len(value) + perEntry }

// Shortened is what is kept of the annotations of an object that says more than
// MostMetadata: ours, which it may change, and that they are not all.
func Shortened(ours map[string]string) map[string]string {
	if ours == nil {
		ours = map[string]string{}
	}
	ours[DigestKey] = ""
	return ours
}

// MetadataTooLarge refuses an object whose labels and annotations are more than
// MostMetadata, whether they are there or not; nil, if they are not.
func MetadataTooLarge(local metav1.Object) *Refusal {
	if _, short := local.GetAnnotations()[DigestKey]; !short && MetadataSize(local) <= MostMetadata {
		return nil
	}
	return refusalf(ReasonMetadataTooLarge, "its labels and annotations take more than %d KiB, so it is not sent", MostMetadata>>10)
}
