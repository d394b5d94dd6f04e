package translate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// localAnnotations are prefixes of annotations that are about the local object only,
// and would be wrong, refused or harmful on the remote one.
var localAnnotations = []string{
	// Nobody wants to apply the local manifest to the remote object; and it is often the
	// biggest annotation.
	corev1.LastAppliedConfigAnnotation,
	// A mirror pod is one that a kubelet runs on its own.
	"kubernetes.io/config.",
	// The API server turned these into fields, and allows no change of them.
	"container.apparmor.security.beta.kubernetes.io/",
	// The volume controllers record their work in these. A new claim that says it has been
	// bound before is Lost.
	"pv.kubernetes.io/",
	"volume.kubernetes.io/",
	"volume.beta.kubernetes.io/",
	limitRanger,
	// The class of an Ingress before there was a field for it. Controllers prefer it to the
	// field, and the class has another name in the provider.
	"kubernetes.io/ingress.class",
}

// limitRanger records what an API server has defaulted from its own cluster's
// LimitRanges.
const limitRanger = "kubernetes.io/limit-ranger"

// localLabels are set on local pods by the API server, from the node they are on. In
// the provider its own API server sets them, from another node.
var localLabels = []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone}

// Metadata is the metadata of local's remote object: its labels and annotations, except
// those that are about the local object only, our mark, and annotations that name the
// local object.
func Metadata(local metav1.Object, t Target) metav1.ObjectMeta {
	labels := make(map[string]string, len(local.GetLabels())+3)
	for key, value := range local.GetLabels() {
		if isCopiedLabel(key) {
			labels[key] = value
		}
	}
	annotations := make(map[string]string, len(local.GetAnnotations())+5)
	for key, value := range local.GetAnnotations() {
		if isCopiedAnnotation(key) {
			annotations[key] = value
		}
	}
	annotations[v1alpha1.AnnotationCopied] = copiedKeys(labels, annotations)
	maps.Copy(labels, t.Mark.Labels())

	annotations[v1alpha1.AnnotationLocalName] = local.GetName()
	annotations[v1alpha1.AnnotationLocalUID] = string(local.GetUID())
	namespace, name := local.GetNamespace(), local.GetName()
	if namespace == "" {
		return metav1.ObjectMeta{Name: t.ClusterScopedName(name), Labels: labels, Annotations: annotations}
	}
	annotations[v1alpha1.AnnotationLocalNamespace] = namespace
	return metav1.ObjectMeta{Name: t.Name(namespace, name), Namespace: t.Namespace, Labels: labels, Annotations: annotations}
}

// Merged is a copy of remote with the metadata that MergeMetadata returns. What it lacks of the
// local object is what desired lacks.
func Merged[T interface {
	metav1.Object
	runtime.Object
}](desired, remote T) T {
	merged := remote.DeepCopyObject().(T)
	labels, annotations := MergeMetadata(desired, remote)
	if LeftOut(desired) == "" {
		delete(annotations, v1alpha1.AnnotationLeftOut)
	}
	merged.SetLabels(labels)
	merged.SetAnnotations(annotations)
	return merged
}

// MergeMetadata returns the labels and annotations that remote should have: those of
// desired, which Metadata made, and those that the provider has added. What was copied
// before, as remote itself records, and is gone from desired is removed. The account
// label stays as it is: remote may have been created by another account, or by none,
// and the provider's policies let nobody change it.
func MergeMetadata(desired, remote metav1.Object) (labels, annotations map[string]string) {
	was := readCopied(remote.GetAnnotations()[v1alpha1.AnnotationCopied])
	labels = merge(desired.GetLabels(), remote.GetLabels(), was.labels)
	if account, there := remote.GetLabels()[v1alpha1.LabelAccount]; there {
		labels[v1alpha1.LabelAccount] = account
	} else {
		delete(labels, v1alpha1.LabelAccount)
	}
	return labels, merge(desired.GetAnnotations(), remote.GetAnnotations(), was.annotations)
}

// merge is a three-way merge; base has only the keys.
func merge(desired, remote map[string]string, base []string) map[string]string {
	merged := make(map[string]string, len(remote)+len(desired))
	maps.Copy(merged, remote)
	for _, key := range base {
		// Nobody but us writes our own keys, and we never list them: a listed one was put
		// there by somebody who wants it removed.
		if !IsOurs(key) {
			delete(merged, key)
		}
	}
	maps.Copy(merged, desired)
	return merged
}

// copied are the keys that were copied.
type copied struct{ labels, annotations []string }

// copiedKeys is the value of AnnotationCopied: keys contain neither of the separators.
// Our own keys are not included.
func copiedKeys(labels, annotations map[string]string) string {
	return joinSorted(labels) + ";" + joinSorted(annotations)
}

func readCopied(value string) copied {
	labels, annotations, _ := strings.Cut(value, ";")
	return copied{strings.Split(labels, ","), strings.Split(annotations, ",")}
}

func joinSorted(m map[string]string) string {
	return strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(m)), IsOurs), ",")
}

// IsOurs reports whether a key of a label or annotation is in Spillway's domain,
// or one below it.
func IsOurs(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && (prefix == v1alpha1.Domain || strings.HasSuffix(prefix, "."+v1alpha1.Domain))
}

func isCopiedLabel(key string) bool { return !IsOurs(key) && !slices.Contains(localLabels, key) }

func isCopiedAnnotation(key string) bool {
	return !IsOurs(key) && key != DigestKey && !slices.ContainsFunc(localAnnotations, func(beginning string) bool { return strings.HasPrefix(key, beginning) })
}
