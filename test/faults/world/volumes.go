package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// volumes plays the part of the volume controller that scenarios need: a claim
// that names its volume, and a volume that names its claim with its UID, are
// bound. It looks at each by itself, since nobody here names one that is not his.
func volumes(mgr ctrl.Manager, c *rig.Cluster) error {
	err := follow(mgr, "claims", &corev1.PersistentVolumeClaim{}, func(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
		if claim.Spec.VolumeName == "" || claim.Status.Phase == corev1.ClaimBound || !claim.DeletionTimestamp.IsZero() {
			return nil
		}
		claim.Status = corev1.PersistentVolumeClaimStatus{
			Phase: corev1.ClaimBound, AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
		}
		return c.Admin.Status().Update(ctx, claim)
	})
	if err != nil {
		return err
	}
	return follow(mgr, "volumes", &corev1.PersistentVolume{}, func(ctx context.Context, volume *corev1.PersistentVolume) error {
		claim := volume.Spec.ClaimRef
		if claim == nil || claim.UID == "" || volume.Status.Phase == corev1.VolumeBound || !volume.DeletionTimestamp.IsZero() {
			return nil
		}
		volume.Status.Phase = corev1.VolumeBound
		return c.Admin.Status().Update(ctx, volume)
	})
}
