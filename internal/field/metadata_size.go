package field

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// MostMetadata is how much memory, in bytes, the labels and annotations of an object that pods need may
// take. Larger objects are not sent. Unlike content, metadata stays in memory, and an API server
// accepts more than a megabyte of labels.
const MostMetadata = 64 << 10

// MetadataSize returns how much memory, in bytes, the labels and annotations of an object take. It does
// not count Spillway's own, nor kubectl's last applied configuration, because they are not sent.
//
// It also counts the selector and ports of a Service, and the selector of a PodDisruptionBudget. An API
// server does not limit these either.
func MetadataSize(object metav1.Object) int {
	size := 0
	if service, is := object.(*corev1.Service); is {
		for key, value := range service.Spec.Selector {
			size += EntrySize(PodLabel(key), value)
		}
		for i := range service.Spec.Ports {
			port := &service.Spec.Ports[i]
			size += perPort + len(port.Name) + len(port.TargetPort.StrVal) + len(ptr.Deref(port.AppProtocol, ""))
		}
	}
	if budget, is := object.(*policyv1.PodDisruptionBudget); is && budget.Spec.Selector != nil {
		for key, value := range budget.Spec.Selector.MatchLabels {
			size += EntrySize(PodLabel(key), value)
		}
		for _, expression := range budget.Spec.Selector.MatchExpressions {
			size += EntrySize(PodLabel(expression.Key), "")
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

// perPort is how much memory, in bytes, a port of a Service takes without its strings.
const perPort = 88

// EntrySize returns how much memory, in bytes, a label or annotation takes.
func EntrySize(key, value string) int { return len(key) + len(value) + perEntry }

// Shortened returns the annotations that are kept of an object with more than MostMetadata: Spillway's
// own, and a note that the others are missing. It may change ours.
func Shortened(ours map[string]string) map[string]string {
	if ours == nil {
		ours = map[string]string{}
	}
	ours[DigestKey] = ""
	return ours
}

// longValue is the length, in bytes, above which the value of an annotation is long. Values that
// Spillway reads are shorter.
const longValue = 1 << 10

// Shorten empties long values of annotations that some providers do not get, and notes their keys.
// Tools store whole objects in such annotations.
func Shorten(annotations map[string]string) {
	var keys []string
	for key, value := range annotations {
		if len(value) > longValue && !IsOurs(key) && !isSent(key, nil) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	for _, key := range keys {
		annotations[key] = ""
	}
	slices.Sort(keys)
	annotations[DigestKey] = strings.Join(keys, ",")
}

// isShortened reports whether an object lacks labels or annotations in the cache that a provider with
// these limits would get.
func isShortened(local metav1.Object, limits *Limits) bool {
	keys, is := local.GetAnnotations()[DigestKey]
	return is && (keys == "" || slices.ContainsFunc(strings.Split(keys, ","), func(key string) bool {
		return isSent(key, limits)
	}))
}

// isSent reports whether a provider with these limits gets an annotation of the consumer.
func isSent(key string, limits *Limits) bool { return IsCopiedAnnotation(key) && limits.Sends(key) }

// unsentSize returns how much of MetadataSize belongs to annotations that a provider with these limits
// does not get.
func unsentSize(local metav1.Object, limits *Limits) int {
	size := 0
	for key, value := range local.GetAnnotations() {
		if !IsOurs(key) && key != corev1.LastAppliedConfigAnnotation && !isSent(key, limits) {
			size += EntrySize(key, value)
		}
	}
	return size
}

// MetadataTooLarge refuses an object if the labels and annotations for a provider with these limits
// exceed MostMetadata, even if they were Shortened. Otherwise it returns nil.
func MetadataTooLarge(local metav1.Object, limits *Limits) *Problem {
	if !isShortened(local, limits) && MetadataSize(local)-unsentSize(local, limits) <= MostMetadata {
		return nil
	}
	what := "labels and annotations"
	switch local.(type) {
	case *corev1.Service:
		what = "labels, annotations, selector and ports"
	case *policyv1.PodDisruptionBudget:
		what = "labels, annotations and selector"
	}
	return Refuse(ReasonMetadataTooLarge, "its %s take more than %d KiB, so it is not sent", what, MostMetadata>>10)
}
