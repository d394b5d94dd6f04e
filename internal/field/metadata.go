package field

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// OfMetadata says which metadata of an object is sent.
const OfMetadata = "labels and annotations that the provider's limits allow, and Spillway's own"

// localAnnotations are prefixes of annotations that concern only the local object. They would be wrong,
// refused or harmful on the remote object.
var localAnnotations = []string{
	// Nobody applies the local manifest to the remote object. And it is often the largest annotation.
	corev1.LastAppliedConfigAnnotation,
	// Mirror pods have these. A kubelet runs them on its own.
	"kubernetes.io/config.",
	// The API server copied these into fields, and allows no change of them.
	"container.apparmor.security.beta.kubernetes.io/",
	// The volume controllers record their work in these. If a new claim says that it was bound before,
	// its phase becomes Lost.
	"pv.kubernetes.io/",
	"volume.kubernetes.io/",
	"volume.beta.kubernetes.io/",
	limitRanger,
	queues,
	// The ReplicaSets that read it are in the consumer. Spillway sets it itself with spec.overflow.
	corev1.PodDeletionCost,
	// The class of an Ingress, from before the field existed. Controllers prefer it to the field, but
	// the class has another name in the provider.
	"kubernetes.io/ingress.class",
}

// limitRanger records the defaults that an API server set from its own cluster's LimitRanges.
const limitRanger = "kubernetes.io/limit-ranger"

// queues is the domain of Kueue. It has queued the pod in the consumer. A Kueue of the provider would hold the pod back,
// in a queue that it does not have.
const queues = "kueue.x-k8s.io/"

// localLabels are labels that the API server sets on pods from their nodes. The provider's API server
// sets them from another node.
var localLabels = []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone}

// Metadata returns the metadata of local's remote object. It has local's labels and annotations, except
// those that concern only the local object. It also has the mark, and annotations that name the local
// object. A pod also has the aliases of its labels.
func Metadata(local metav1.Object, t Target) metav1.ObjectMeta {
	labels := make(map[string]string, len(local.GetLabels())+3)
	for key, value := range local.GetLabels() {
		if IsCopiedLabel(key) {
			labels[key] = value
		}
	}
	if _, isPod := local.(*corev1.Pod); isPod {
		for key, value := range local.GetLabels() {
			if alias := Alias(key); alias != "" {
				labels[alias] = value
			}
		}
	}
	annotations := make(map[string]string, len(local.GetAnnotations())+5)
	for key, value := range local.GetAnnotations() {
		if IsCopiedAnnotation(key) {
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

// Merged returns a copy of remote with the metadata that MergeMetadata returns. The annotation about
// what was left out comes from desired.
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

// MergeMetadata returns the labels and annotations that remote should have. It sets all in desired,
// which Metadata made, and keeps all that the provider added. remote records which keys were copied
// before. It removes those that are no longer in desired. Aliases are not recorded: it removes all that are
// not in desired.
//
// The account label stays as it is, because the provider's policies let nobody change it. Another
// account, or none, may have created remote.
func MergeMetadata(desired, remote metav1.Object) (labels, annotations map[string]string) {
	was := readCopied(remote.GetAnnotations()[v1alpha1.AnnotationCopied])
	labels = merge(desired.GetLabels(), remote.GetLabels(), was.labels)
	maps.DeleteFunc(labels, func(key, _ string) bool {
		_, wanted := desired.GetLabels()[key]
		return !wanted && isAlias(key)
	})
	if account, there := remote.GetLabels()[v1alpha1.LabelAccount]; there {
		labels[v1alpha1.LabelAccount] = account
	} else {
		delete(labels, v1alpha1.LabelAccount)
	}
	return labels, merge(desired.GetAnnotations(), remote.GetAnnotations(), was.annotations)
}

// merge is a three-way merge. base has only keys.
func merge(desired, remote map[string]string, base []string) map[string]string {
	merged := make(map[string]string, len(remote)+len(desired))
	maps.Copy(merged, remote)
	for _, key := range base {
		// Only Spillway writes its own keys, and it never lists them. If one is listed, somebody added
		// it to have it removed.
		if !IsOurs(key) {
			delete(merged, key)
		}
	}
	maps.Copy(merged, desired)
	return merged
}

// copied are the keys of labels and annotations that were copied.
type copied struct{ labels, annotations []string }

// copiedKeys returns the value of AnnotationCopied, without Spillway's own keys. Keys contain neither
// separator.
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

// IsOurs reports whether the key of a label or annotation is in Spillway's domain, or in a subdomain.
func IsOurs(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && (prefix == v1alpha1.Domain || strings.HasSuffix(prefix, "."+v1alpha1.Domain))
}

// IsCopiedLabel reports whether a label is copied to remote objects, if the provider's limits allow it.
func IsCopiedLabel(key string) bool {
	return !IsOurs(key) && !slices.Contains(localLabels, key) && !strings.HasPrefix(key, queues)
}

// IsCopiedAnnotation reports whether an annotation is copied to remote objects, if the provider's limits
// allow it.
func IsCopiedAnnotation(key string) bool {
	return !IsOurs(key) && key != DigestKey && !slices.ContainsFunc(localAnnotations, func(beginning string) bool { return strings.HasPrefix(key, beginning) })
}

// NeverSynced refuses an object whose owner marked it to stay in the consumer.
func NeverSynced(kind string, local metav1.Object) *Problem {
	if local.GetLabels()[v1alpha1.LabelSync] != v1alpha1.SyncNever && local.GetAnnotations()[v1alpha1.LabelSync] != v1alpha1.SyncNever {
		return nil
	}
	return Refuse(ReasonSyncNever, "%s %s has %s=%s", kind, local.GetName(), v1alpha1.LabelSync, v1alpha1.SyncNever)
}
