package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// volumes plays the part of the volume controller that scenarios need: it binds a claim and a volume that
// name each other.
func volumes(mgr ctrl.Manager, c *rig.Cluster) error {
	bound := act[*corev1.PersistentVolume](func(ctx context.Context, volume *corev1.PersistentVolume) error {
		return bindVolume(ctx, c.Admin, volume)
	})
	return ctrl.NewControllerManagedBy(mgr).Named("volumes").For(&corev1.PersistentVolume{}).WithOptions(options()).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(volumeOf)).
		Complete(reconcile.AsReconciler(mgr.GetClient(), bound))
}

// volumeOf enqueues the volume that a claim names.
func volumeOf(_ context.Context, object client.Object) []reconcile.Request {
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok || claim.Spec.VolumeName == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: claim.Spec.VolumeName}}}
}

// bindVolume sends the next write of binding a volume and its claim, in Kubernetes' order: first the
// reference to the claim, then both statuses.
func bindVolume(ctx context.Context, admin client.Client, volume *corev1.PersistentVolume) error {
	reference, claim := volume.Spec.ClaimRef, &corev1.PersistentVolumeClaim{}
	if reference == nil || !volume.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := admin.Get(ctx, client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}, claim); err != nil {
		return err
	}
	switch {
	case claim.Spec.VolumeName != volume.Name || !claim.DeletionTimestamp.IsZero():
		return nil
	case reference.UID == "":
		reference.UID = claim.UID
		return admin.Update(ctx, volume)
	case reference.UID != claim.UID:
		return nil
	case volume.Status.Phase != corev1.VolumeBound:
		volume.Status.Phase = corev1.VolumeBound
		return admin.Status().Update(ctx, volume)
	case claim.Status.Phase != corev1.ClaimBound:
		claim.Status = corev1.PersistentVolumeClaimStatus{
			Phase: corev1.ClaimBound, AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
		}
		return admin.Status().Update(ctx, claim)
	}
	return nil
}
