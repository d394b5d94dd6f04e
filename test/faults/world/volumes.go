package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// volumes plays the part of the volume controller that scenarios need: it binds a claim and a volume that
// name each other, or whose volume names the claim. It says that a volume is released once the claim is gone.
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
	err := admin.Get(ctx, client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}, claim)
	if apierrors.IsNotFound(err) || err == nil && reference.UID != "" && claim.UID != reference.UID {
		return releaseVolume(ctx, admin, volume)
	}
	if err != nil {
		return err
	}
	switch {
	case claim.Spec.VolumeName == "" && reference.UID == claim.UID && claim.DeletionTimestamp.IsZero():
		before := claim.DeepCopy()
		claim.Spec.VolumeName = volume.Name
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, field.AnnotationBindCompleted, "yes")
		return admin.Patch(ctx, claim, client.MergeFrom(before))
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

// releaseVolume says that the claim of a volume that a driver has created is gone. Then the driver deletes the
// volume, if it is one of the played driver.
func releaseVolume(ctx context.Context, admin client.Client, volume *corev1.PersistentVolume) error {
	driver := volume.Annotations[field.AnnotationProvisionedBy]
	switch {
	case driver == "" || volume.Status.Phase == "":
		return nil
	case volume.Status.Phase != corev1.VolumeReleased:
		volume.Status.Phase = corev1.VolumeReleased
		return admin.Status().Update(ctx, volume)
	case driver == playedDriver:
		return admin.Delete(ctx, volume)
	}
	return nil
}
