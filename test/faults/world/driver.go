package world

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// The StorageClasses of the consumers, and of the providers.
const (
	StoredHere  = "stored-here"
	StoredThere = "stored-there"
	// playedDriver creates the volumes of StoredThere.
	playedDriver = "csi.example.com"
)

// storage returns what an administrator of a consumer or of a provider adds, so that claims get volumes.
func storage(class, driver string) []client.Object {
	return []client.Object{&storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: driver,
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer), AllowVolumeExpansion: ptr.To(true),
	}}
}

// mayStore lets the manager create volumes in a consumer.
func mayStore() client.Object {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "spillway-volumes"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-volumes"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: manager.DefaultNamespace, Name: "spillway-manager"}},
	}
}

// driver plays the driver of a provider: it creates a volume for a claim once a pod needs it, and expands it.
func driver(mgr ctrl.Manager, c *rig.Cluster) error {
	provide := act[*corev1.PersistentVolumeClaim](func(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
		return store(ctx, c.Admin, claim)
	})
	return ctrl.NewControllerManagedBy(mgr).Named("driver").For(&corev1.PersistentVolumeClaim{}).WithOptions(options()).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(claimsOf)).
		Complete(reconcile.AsReconciler(mgr.GetClient(), provide))
}

// claimsOf enqueues the claims that a pod names.
func claimsOf(_ context.Context, object client.Object) []reconcile.Request {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil
	}
	var all []reconcile.Request
	for _, volume := range pod.Spec.Volumes {
		if of := volume.PersistentVolumeClaim; of != nil {
			all = append(all, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: pod.Namespace, Name: of.ClaimName}})
		}
	}
	return all
}

// store sends the next write for a claim.
func store(ctx context.Context, admin client.Client, claim *corev1.PersistentVolumeClaim) error {
	if ptr.Deref(claim.Spec.StorageClassName, "") != StoredThere || !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	switch {
	case claim.Status.Phase == corev1.ClaimBound && asked.Cmp(claim.Status.Capacity[corev1.ResourceStorage]) > 0:
		claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: asked}
		return admin.Status().Update(ctx, claim)
	case claim.Spec.VolumeName != "":
		return nil
	}
	var pods corev1.PodList
	if err := admin.List(ctx, &pods, client.InNamespace(claim.Namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		for _, request := range claimsOf(ctx, &pods.Items[i]) {
			if request.Name == claim.Name {
				return client.IgnoreAlreadyExists(admin.Create(ctx, volumeFor(claim)))
			}
		}
	}
	return nil
}

// volumeFor returns the volume that the driver creates. Its name, and a label, say whose lane it is.
func volumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	lane := claim.Namespace[strings.LastIndex(claim.Namespace, "-")+1:]
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: claim.Name + "-" + lane, Labels: map[string]string{oracle.LabelLane: lane}, Annotations: map[string]string{field.AnnotationProvisionedBy: playedDriver},
		},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: StoredThere, AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: playedDriver, VolumeHandle: claim.Name}},
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		},
	}
}

// Stored maps StoredHere to StoredThere.
func Stored(cb *v1alpha1.ClusterBinding) {
	cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassStorage, Name: StoredHere, RemoteName: StoredThere})
}
