package release

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	goesAway := trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool { return away(after) && !away(before) })
	continues := trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool { return before.Spec.Paused && !after.Spec.Paused })
	return builder.TypedControllerManagedBy[Request](mgr).
		Named("release").
		WatchesRawSource(r.changed(append(r.protected, r.reported...))).
		Watches(&v1alpha1.ClusterBinding{}, r.all(r.protected), builder.WithPredicates(goesAway)).
		Watches(&v1alpha1.ClusterBinding{}, r.all(r.reported), builder.WithPredicates(continues)).
		Watches(&v1alpha1.NamespaceMap{}, r.all(r.reported)).
		WithOptions(trigger.Options[Request](mgr, 4)).
		Complete(r)
}

// changed enqueues the objects of some kinds that have something for a provider.
func (r *Reconciler) changed(kinds []*kind) source.TypedSource[Request] {
	return source.TypedFunc[Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request]) error {
		for _, k := range kinds {
			if err := informer.Watch(ctx, r.cache, k.object, func(e informer.Change) {
				if e.After != nil && len(k.providers(e.After)) > 0 {
					queue.Add(Request{k, client.ObjectKeyFromObject(e.After)})
				}
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// all enqueues all objects of some kinds that have something for a provider.
func (r *Reconciler) all(kinds []*kind) handler.TypedEventHandler[client.Object, Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []Request {
		var requests []Request
		for _, k := range kinds {
			list := k.list()
			if err := r.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // The shared cache is ending, and the manager with it.
				log.FromContext(ctx).Error(err, "an event is lost")
				return nil
			}
			_ = meta.EachListItem(list, func(item runtime.Object) error { // The function never fails.
				if object, ok := item.(client.Object); ok && len(k.providers(object)) > 0 {
					requests = append(requests, Request{k, client.ObjectKeyFromObject(object)})
				}
				return nil
			})
		}
		return requests
	})
}
