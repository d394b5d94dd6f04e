package field

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Storage is what a StorageClass says of the volumes that are created with it.
type Storage struct {
	Reclaim corev1.PersistentVolumeReclaimPolicy
	Binding storagev1.VolumeBindingMode
	// Expands reports whether claims may grow.
	Expands bool
	// Provisioner is the driver that creates the volumes.
	Provisioner string
}

// StorageOf returns what a StorageClass says. Without a reclaim policy, Kubernetes deletes volumes. A policy that
// this version does not know counts as Retain, and another binding mode as Immediate.
func StorageOf(class *storagev1.StorageClass) Storage {
	s := Storage{Reclaim: corev1.PersistentVolumeReclaimRetain, Binding: storagev1.VolumeBindingImmediate, Expands: ptr.Deref(class.AllowVolumeExpansion, false), Provisioner: class.Provisioner}
	if ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete) == corev1.PersistentVolumeReclaimDelete {
		s.Reclaim = corev1.PersistentVolumeReclaimDelete
	}
	if ptr.Deref(class.VolumeBindingMode, "") == storagev1.VolumeBindingWaitForFirstConsumer {
		s.Binding = storagev1.VolumeBindingWaitForFirstConsumer
	}
	return s
}

// Annotations by which Kubernetes records the state of a claim: that it is bound, for which node the
// scheduler wants its volume, and which driver shall create the volume. The last one on a volume says
// which driver has created it.
const (
	AnnotationBindCompleted      = "pv.kubernetes.io/bind-completed"
	AnnotationSelectedNode       = "volume.kubernetes.io/selected-node"
	AnnotationStorageProvisioner = "volume.kubernetes.io/storage-provisioner"
	AnnotationProvisionedBy      = "pv.kubernetes.io/provisioned-by"
)

// VolumeName returns the name of the consumer's PersistentVolume that stands for the volume of a claim in a
// provider.
func VolumeName(clusterID string, claim types.UID) string {
	return v1alpha1.VolumePrefix + clusterID + "-" + string(claim)
}

// ProviderOfVolume returns the clusterID of the provider that has the volume of a claim; "" if none is known to have it.
func ProviderOfVolume(claim *corev1.PersistentVolumeClaim) string {
	rest, ours := strings.CutPrefix(claim.Spec.VolumeName, v1alpha1.VolumePrefix)
	clusterID, found := strings.CutSuffix(rest, "-"+string(claim.UID))
	if !ours || !found {
		return ""
	}
	return clusterID
}

// StandsForRemote reports whether a PersistentVolume of the consumer stands for a volume in the provider. It
// needs only the metadata.
func StandsForRemote(volume metav1.Object, clusterID string) bool {
	return strings.HasPrefix(volume.GetName(), VolumeName(clusterID, "")) && volume.GetAnnotations()[v1alpha1.AnnotationRemoteClaim] != ""
}

// ClaimOf returns the UID of the claim for which a volume of VolumeName is, as its name says. One clusterID may begin
// like another, so the length of the UID counts.
func ClaimOf(volume metav1.Object, clusterID string) (claim types.UID, is bool) {
	uid, is := strings.CutPrefix(volume.GetName(), VolumeName(clusterID, ""))
	return types.UID(uid), is && len(uid) == sizeOfUID
}

// sizeOfUID is the number of characters of a UID.
const sizeOfUID = 36

// IsProvided reports whether the provider has created the volume of a claim, or some provider shall create it.
func IsProvided(claim *corev1.PersistentVolumeClaim, clusterID string) bool {
	return claim.Spec.VolumeName == VolumeName(clusterID, claim.UID) ||
		claim.Spec.VolumeName == "" && claim.Annotations[AnnotationStorageProvisioner] == v1alpha1.StorageDriver
}

// HoldsData reports whether a claim in the provider holds data, or may come to hold some, that exists nowhere
// else. Copies of claims name a volume of the consumer, whose name ends in a hash. An administrator may have
// removed the label, so a claim without such a name counts, too.
func HoldsData(remote *corev1.PersistentVolumeClaim) bool {
	return remote.Labels[v1alpha1.LabelVolume] != "" || !hashed.MatchString(remote.Spec.VolumeName)
}

// hashed matches what Hashed returns.
var hashed = regexp.MustCompile(`^[a-z0-9.-]{1,30}-[0-9a-f]{32}$`)

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
