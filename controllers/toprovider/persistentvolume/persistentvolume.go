// Package persistentvolume sends the PersistentVolumes that the claims of
// offloaded pods are bound to.
package persistentvolume

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;list;watch;patch

// Kind is the kind of PersistentVolumes.
func Kind() kind.Kind[*corev1.PersistentVolume] {
	volumes := kind.NewCopy[corev1.PersistentVolume, corev1.PersistentVolumeList]("persistentvolume", kind.Referenced, translation{})
	volumes.Scope, volumes.Needs, volumes.For, volumes.Provided = kind.ScopeCluster, needs, claimant, provided
	return volumes
}

// claimant returns the namespace of the claim that a remote volume is for. A second volume of the same storage
// would confuse drivers.
func claimant(remote *corev1.PersistentVolume) string {
	if remote.Spec.ClaimRef == nil {
		return ""
	}
	return remote.Spec.ClaimRef.Namespace
}

// needs returns the Secrets that a volume's driver gets.
func needs(volume *corev1.PersistentVolume) []decide.Ref {
	var refs []decide.Ref
	for _, name := range volumeSecrets(volume) {
		refs = append(refs, decide.Ref{Key: decide.Key{Kind: "secret", NamespacedName: name}})
	}
	return refs
}

// provided reports whether a volume names a Secret of the provider's own. Such a Secret is not sent.
func provided(volume *corev1.PersistentVolume, of decide.Key, around decide.Inputs) bool {
	ref := volume.Spec.ClaimRef
	if of.Kind != "secret" || ref == nil || ref.Namespace == of.Namespace || !around.Limits.HasSecretsOfDrivers(of.Namespace) {
		return false
	}
	return around.TargetFor(ref.Namespace).Namespace != around.TargetFor(of.Namespace).Namespace
}

type translation struct{}

// RemoteName implements decide.Translation: volumes have no namespace.
func (translation) RemoteName(t field.Target, local types.NamespacedName) types.NamespacedName {
	return types.NamespacedName{Name: t.ClusterScopedName(local.Name)}
}

// Spares implements decide.Sparing: package fromprovider/volume looks after volumes that stand for one in the
// provider.
func (translation) Spares(local *corev1.PersistentVolume, clusterID string) bool {
	return field.StandsForRemote(local, clusterID)
}

// Remote implements decide.Translation.
func (translation) Remote(local *corev1.PersistentVolume, t field.Target, around decide.Inputs) (*corev1.PersistentVolume, *field.Problem) {
	return toRemote(local, claimOf(local), t, around)
}

// Merge implements decide.Translation. The source of a volume cannot be changed, and
// the provider owns what binds it. A kubelet grows the file system of a mounted volume
// when the capacity of the volume exceeds that in the status of the claim.
//
// A volume whose claim is gone stays Released for ever, because it names that claim by
// its UID: it is replaced, and binds to the next one. So is a free volume for another
// claim than it should be for. The stored data is not touched, since the policy is
// Retain by then.
func (translation) Merge(desired, remote *corev1.PersistentVolume) (*corev1.PersistentVolume, bool) {
	merged := field.Merged(desired, remote)
	merged.Spec.PersistentVolumeReclaimPolicy = desired.Spec.PersistentVolumeReclaimPolicy
	merged.Spec.Capacity, merged.Spec.AccessModes = desired.Spec.Capacity, desired.Spec.AccessModes
	merged.Spec.MountOptions = desired.Spec.MountOptions
	if remote.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain && unbindable(desired, remote) {
		return remote, true
	}
	return merged, false
}

// unbindable reports whether a volume will never be bound to its claim again.
func unbindable(desired, remote *corev1.PersistentVolume) bool {
	switch remote.Status.Phase {
	case corev1.VolumeReleased:
		return true
	case corev1.VolumeAvailable, corev1.VolumePending, "":
		is, want := remote.Spec.ClaimRef, desired.Spec.ClaimRef
		return is == nil || is.Namespace != want.Namespace || is.Name != want.Name
	default:
		return false
	}
}

// claimOf is the claim that a volume is bound to, according to the volume: it is only
// sent because that claim agrees.
func claimOf(volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	if ref := volume.Spec.ClaimRef; ref != nil {
		claim.Namespace, claim.Name, claim.UID = ref.Namespace, ref.Name, ref.UID
		claim.Spec.VolumeName, claim.Spec.StorageClassName = volume.Name, &volume.Spec.StorageClassName
		claim.Status.Phase = corev1.ClaimBound
	}
	return claim
}
