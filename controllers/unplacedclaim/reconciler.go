// Package unplacedclaim tells the owners of claims that no provider creates a volume for them, because they must
// choose one. It reads the few claims that wait for one, and writes only events.
//
// decide.go decides, without any I/O.
package unplacedclaim

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler tells the owners of claims.
type Reconciler struct {
	Client client.Client
	// SharedCache has the metadata of all claims, and Live bypasses the caches.
	SharedCache cache.Cache
	Live        client.Reader
	Events      events.EventRecorder

	told sync.Map // The last message for each claim, by its UID.
}

// New returns what adds a Reconciler to a manager.
func New(cached client.Client, shared cache.Cache, local ctrl.Manager) func(ctrl.Manager) error {
	r := &Reconciler{Client: cached, SharedCache: shared, Live: local.GetAPIReader(), Events: local.GetEventRecorder("spillway-unplacedclaim")}
	return r.SetupWithManager
}

// Reconcile tells the owner of one claim.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	metadata := claimMetadata()
	if err := r.SharedCache.Get(ctx, req.NamespacedName, metadata, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !waits(metadata) {
		r.told.Delete(metadata.UID)
		return ctrl.Result{}, nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.Live.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	class, err := r.classOf(ctx, claim)
	if err != nil {
		return ctrl.Result{}, err
	}
	bindings, err := consumer.Bindings(ctx, r.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.tell(claim, decide(claim, class, bindings.Usable()))
	return ctrl.Result{}, nil
}

func (r *Reconciler) classOf(ctx context.Context, claim *corev1.PersistentVolumeClaim) (*storagev1.StorageClass, error) {
	class := &storagev1.StorageClass{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: persistentvolumeclaim.StorageClass(claim)}, class)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("getting the StorageClass of PersistentVolumeClaim %s: %w", client.ObjectKeyFromObject(claim), err)
	case err != nil:
		return nil, nil
	}
	return class, nil
}

// tell creates an event, unless the last one said the same.
func (r *Reconciler) tell(claim *corev1.PersistentVolumeClaim, problem *field.Problem) {
	if problem == nil {
		r.told.Delete(claim.UID)
		return
	}
	if before, _ := r.told.Swap(claim.UID, problem.Message); before != any(problem.Message) {
		r.Events.Eventf(claim, nil, corev1.EventTypeWarning, problem.Reason, "Offload", "%s", conditions.Note(problem.Message))
	}
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("unplacedclaim").
		WatchesRawSource(r.claims()).
		Watches(&v1alpha1.ClusterBinding{}, handler.EnqueueRequestsFromMapFunc(r.waiting), builder.WithPredicates(trigger.NotStatus())).
		Watches(&storagev1.StorageClass{}, handler.EnqueueRequestsFromMapFunc(r.waiting)).
		WithOptions(trigger.Options[reconcile.Request](mgr, 1)).
		Complete(r)
}

// claims enqueues the claims that wait, and those that do no more.
func (r *Reconciler) claims() source.TypedSource[reconcile.Request] {
	return source.TypedFunc[reconcile.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return informer.Watch(ctx, r.SharedCache, claimMetadata(), func(e informer.Change) {
			switch {
			case e.After == nil:
				r.told.Delete(e.Before.GetUID())
			case waits(e.After), e.Before != nil && waits(e.Before):
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.After)})
			}
		})
	})
}

// waiting lists the claims that wait. A cache that cannot be read is stopping.
func (r *Reconciler) waiting(ctx context.Context, _ client.Object) []reconcile.Request {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"))
	if err := r.SharedCache.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if waits(&all.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}

func claimMetadata() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	return metadata
}
