package unpin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[Request](mgr).
		Named("unpin").
		WatchesRawSource(inventory.MetadataSource(r.Views, requests)).
		Watches(&v1alpha1.ClusterBinding{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofBinding), builder.WithPredicates(goesAway())).
		WithOptions(trigger.Options[Request](mgr, 1)).
		Complete(r)
}

// goesAway passes a binding whose provider becomes unreachable, and a deleted binding.
func goesAway() predicate.Predicate {
	return trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool { return away(after) && !away(before) })
}

// requests returns the request for an object that waits.
func requests(gvk schema.GroupVersionKind, obj client.Object) []Request {
	if !waits(obj) {
		return nil
	}
	return []Request{{gvk, client.ObjectKeyFromObject(obj)}}
}

// ofBinding enqueues the objects that wait for a binding's provider.
func (r *Reconciler) ofBinding(ctx context.Context, obj client.Object) []Request {
	binding, ok := obj.(*v1alpha1.ClusterBinding)
	if !ok {
		return nil
	}
	marked, err := inventory.Marked(ctx, r.Views, binding.Spec.ClusterID)
	if err != nil { // The shared cache and the manager are ending.
		log.FromContext(ctx).Error(err, "an event is lost", "clusterbinding", binding.Name)
		return nil
	}
	var waiting []Request
	for i := range marked {
		waiting = append(waiting, requests(marked[i].GroupVersionKind(), marked[i])...)
	}
	return waiting
}
