// Package persistentvolume sends the PersistentVolumes that the claims of
// offloaded pods are bound to.
package persistentvolume

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/syncer"
	"github.com/spillway-io/spillway/internal/translate"
)

// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;list;watch;patch

// Kind is that of PersistentVolumes.
func Kind() syncer.Registration {
	return syncer.NewCopied("persistentvolume",
		func() *corev1.PersistentVolume { return &corev1.PersistentVolume{} },
		func() client.ObjectList { return &corev1.PersistentVolumeList{} },
		translation{}, Needs)
}

// Needs are the Secrets that the driver of a volume is given.
func Needs(volume *corev1.PersistentVolume) []syncer.Ref {
	var refs []syncer.Ref
	for _, name := range translate.VolumeSecrets(volume) {
		refs = append(refs, syncer.Ref{Kind: "secret", NamespacedName: name})
	}
	return refs
}

type translation struct{}

// RemoteName implements syncer.Translation: volumes have no namespace.
func (translation) RemoteName(t translate.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Name: t.ClusterScopedName(local.Name)}
}

// Remote implements syncer.Translation.
func (translation) Remote(local *corev1.PersistentVolume, t translate.Target, elsewhere func(string) translate.Target) (*corev1.PersistentVolume, *translate.Refusal) {
	return translate.PersistentVolume(local, claimOf(local), t, elsewhere)
}

// Merge implements syncer.Translation. The source of a volume cannot be changed,
// and what binds it is the provider's.
func (translation) Merge(desired, remote *corev1.PersistentVolume) (*corev1.PersistentVolume, bool) {
	merged := remote.DeepCopy()
	merged.Labels, merged.Annotations = translate.MergeMetadata(desired, remote)
	merged.Spec.PersistentVolumeReclaimPolicy = desired.Spec.PersistentVolumeReclaimPolicy
	if equality.Semantic.DeepEqual(merged, remote) {
		return remote, false
	}
	return merged, false
}

// claimOf is the claim that a volume is bound to, as the volume tells it: who
// sends a volume does so because that claim says the same.
func claimOf(volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	if ref := volume.Spec.ClaimRef; ref != nil {
		claim.Namespace, claim.Name, claim.UID = ref.Namespace, ref.Name, ref.UID
		claim.Spec.VolumeName, claim.Spec.StorageClassName = volume.Name, &volume.Spec.StorageClassName
		claim.Status.Phase = corev1.ClaimBound
	}
	return claim
}
