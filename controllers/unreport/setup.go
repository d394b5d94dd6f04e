package unreport

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler[T]) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[reconcile.Request](mgr).
		Named("unreport-"+r.Kind.Name).
		WatchesRawSource(r.changed()).
		Watches(&v1alpha1.ClusterBinding{}, handler.EnqueueRequestsFromMapFunc(r.reported), builder.WithPredicates(ends())).
		Watches(&v1alpha1.NamespaceMap{}, handler.EnqueueRequestsFromMapFunc(r.reported)).
		WithOptions(trigger.Options[reconcile.Request](mgr, 1)).
		Complete(r)
}

// changed enqueues objects that have reports from providers.
func (r *Reconciler[T]) changed() source.TypedSource[reconcile.Request] {
	return source.TypedFunc[reconcile.Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return informer.Watch(ctx, r.SharedCache, r.Kind.New(), func(e informer.Change) {
			if e.After != nil && len(r.Reporters(e.After)) > 0 {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.After)})
			}
		})
	})
}

// ends passes a deleted binding, and a binding that is no longer paused.
func ends() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.ClusterBinding)
			after, ok2 := e.ObjectNew.(*v1alpha1.ClusterBinding)
			return ok1 && ok2 && before.Spec.Paused && !after.Spec.Paused
		},
	}
}

// reported enqueues all objects that have reports from providers.
func (r *Reconciler[T]) reported(ctx context.Context, _ client.Object) []reconcile.Request {
	list := r.Kind.NewList()
	if err := r.SharedCache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // The shared cache is ending, and the manager with it.
		log.FromContext(ctx).Error(err, "an event is lost")
		return nil
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { // The function never fails.
		if object, ok := item.(client.Object); ok && len(r.Reporters(object)) > 0 {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
		return nil
	})
	return requests
}
