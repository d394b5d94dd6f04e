package field

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/utils/ptr"
)

// Storage is what a StorageClass says of the volumes that are created with it.
type Storage struct {
	Reclaim corev1.PersistentVolumeReclaimPolicy
	Binding storagev1.VolumeBindingMode
	// Expands reports whether claims may grow.
	Expands bool
}

// StorageOf returns what a StorageClass of a provider says. What Kubernetes does not know counts as its
// default: Delete, and Immediate.
func StorageOf(class *storagev1.StorageClass) Storage {
	s := Storage{Reclaim: corev1.PersistentVolumeReclaimDelete, Binding: storagev1.VolumeBindingImmediate, Expands: ptr.Deref(class.AllowVolumeExpansion, false)}
	if ptr.Deref(class.ReclaimPolicy, "") == corev1.PersistentVolumeReclaimRetain {
		s.Reclaim = corev1.PersistentVolumeReclaimRetain
	}
	if ptr.Deref(class.VolumeBindingMode, "") == storagev1.VolumeBindingWaitForFirstConsumer {
		s.Binding = storagev1.VolumeBindingWaitForFirstConsumer
	}
	return s
}

// Annotations by which Kubernetes records the state of a claim: that it is bound, and for which node
// the scheduler wants its volume.
const (
	AnnotationBindCompleted = "pv.kubernetes.io/bind-completed"
	AnnotationSelectedNode  = "volume.kubernetes.io/selected-node"
)

// OnNodes, InCloud and Unplugged say why a volume of the consumer is not sent.
const (
	OnNodes   = "it is on a node"
	InCloud   = "the disk belongs to the consumer's cloud; use a PersistentVolumeClaim with a CSI driver that the provider has too"
	Unplugged = "Kubernetes no longer mounts it, or only with plugins on nodes; use a CSI driver"
)

// SecretAttribute returns the first attribute that some drivers read as the name of a Secret, or "".
func SecretAttribute(attributes map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		if _, after, ok := strings.Cut(strings.ToLower(key), "secret"); ok && strings.Contains(after, "name") {
			return key
		}
	}
	return ""
}
