package translate

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// MostMetadata is how much memory, in bytes, the labels and annotations of an object
// that pods need may take to be sent. Unlike content they are held in memory, and an
// API server accepts more than a megabyte of labels.
const MostMetadata = 64 << 10

// MetadataSize is how much memory, in bytes, the labels and annotations of an object
// take, without Spillway's own and what kubectl has applied, neither of which is sent; of a
// Service its selector and its ports, and of a PodDisruptionBudget its selector, which an API
// server does not limit either.
func MetadataSize(object metav1.Object) int {
	size := 0
	if service, is := object.(*corev1.Service); is {
		for key, value := range service.Spec.Selector {
			size += EntrySize(key, value)
		}
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			size += perPort + len(port.Name) + len(port.TargetPort.StrVal) + len(ptr.Deref(port.AppProtocol, ""))
		}
	}
	if budget, is := object.(*policyv1.PodDisruptionBudget); is && budget.Spec.Selector != nil {
		for key, value := range budget.Spec.Selector.MatchLabels {
			size += EntrySize(key, value)
		}
		for _, expression := range budget.Spec.Selector.MatchExpressions {
			size += EntrySize(expression.Key, "")
			for _, value := range expression.Values {
				size += EntrySize("", value)
			}
		}
	}
	for _, all := range []map[string]string{object.GetLabels(), object.GetAnnotations()} {
		for key, value := range all {
			if !IsOurs(key) && key != corev1.LastAppliedConfigAnnotation {
				size += EntrySize(key, value)
			}
		}
	}
	return size
}

// perPort is how much memory, in bytes, a port of a Service takes without its texts.
const perPort = 88

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
	what := "labels and annotations"
	switch local.(type) {
	case *corev1.Service:
		what = "labels, annotations, selector and ports"
	case *policyv1.PodDisruptionBudget:
		what = "labels, annotations and selector"
	}
	return refusalf(ReasonMetadataTooLarge, "its %s take more than %d KiB, so it is not sent", what, MostMetadata>>10)
}
