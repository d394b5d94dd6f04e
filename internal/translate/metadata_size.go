package translate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MostMetadata is how much memory, in bytes, the labels and annotations of an object
// that pods need may take to be sent. Unlike content they are held in memory, and an
// API server accepts more than a megabyte of labels.
const MostMetadata = 64 << 10

// MetadataSize is how much memory, in bytes, the labels and annotations of an object
// take, without Spillway's own and what kubectl has applied, neither of which is sent.
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

// EntrySize is how much memory, in bytes, a label or annotation takes.
func EntrySize(key, value string) int { return len(key) + len(value) + perEntry }

// Shortened is what is kept of the annotations of an object with more than
// MostMetadata: our own, which it may change, and a note that the others are missing.
func Shortened(ours map[string]string) map[string]string {
	if ours == nil {
		ours = map[string]string{}
	}
	ours[DigestKey] = ""
	return ours
}

// MetadataTooLarge refuses an object whose labels and annotations exceed MostMetadata,
// whether they were kept or Shortened. Nil if they do not.
func MetadataTooLarge(local metav1.Object) *Refusal {
	if _, short := local.GetAnnotations()[DigestKey]; !short && MetadataSize(local) <= MostMetadata {
		return nil
	}
	return refusalf(ReasonMetadataTooLarge, "its labels and annotations take more than %d KiB, so it is not sent", MostMetadata>>10)
}
