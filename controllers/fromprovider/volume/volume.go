package volume

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// newVolume returns the consumer's volume. Of what the provider says it has only the capacity, and the UID of the
// provider's claim: this identifies the volume, because a bound claim never gets another one. All else comes
// from the consumer's claim. Pods with the claim run only on the provider's virtual node.
func (s snapshot) newVolume(capacity resource.Quantity) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:   nameOf(s.clusterID, s.claim.UID),
			Labels: map[string]string{v1alpha1.LabelSyncedTo + s.clusterID: v1alpha1.SyncedToTrue},
			Annotations: map[string]string{
				v1alpha1.AnnotationRemoteClaim: field.Location(decide.KeyOf(s.remote)),
				// Without it, Kubernetes looks for a plugin of its own to delete the volume.
				field.AnnotationProvisionedBy: v1alpha1.StorageDriver,
			},
			Finalizers: []string{v1alpha1.FinalizerSync + s.clusterID},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: capacity},
			AccessModes:                   slices.Clone(s.claim.Spec.AccessModes),
			VolumeMode:                    s.claim.Spec.VolumeMode,
			StorageClassName:              persistentvolumeclaim.StorageClass(s.claim),
			PersistentVolumeReclaimPolicy: s.reclaim(),
			VolumeAttributesClassName:     s.claim.Spec.VolumeAttributesClassName,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: v1alpha1.StorageDriver, VolumeHandle: string(s.remote.UID),
			}},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: s.claim.Namespace, Name: s.claim.Name, UID: s.claim.UID,
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1alpha1.LabelCluster, Operator: corev1.NodeSelectorOpIn, Values: []string{s.clusterID}}},
			}}}},
		},
	}
}

// reclaim returns the reclaim policy of the volume. The data is kept if the consumer's class or the provider's says
// so, or is unknown.
func (s snapshot) reclaim() corev1.PersistentVolumeReclaimPolicy {
	for _, class := range []*field.Storage{s.class, s.storage} {
		if class == nil || class.Reclaim != corev1.PersistentVolumeReclaimDelete {
			return corev1.PersistentVolumeReclaimRetain
		}
	}
	return corev1.PersistentVolumeReclaimDelete
}
