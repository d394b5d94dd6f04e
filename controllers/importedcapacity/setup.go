package importedcapacity

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	all := func(context.Context, client.Object) []request { return []request{{}} }
	return builder.TypedControllerManagedBy[request](mgr).
		Named("importedcapacity").
		Watches(&v1alpha1.ClusterBinding{}, handler.TypedEnqueueRequestsFromMapFunc(all), builder.WithPredicates(changes())).
		WithOptions(trigger.Options[request](mgr, 1)).
		Complete(r)
}

// changes passes what the capacities depend on.
func changes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.ClusterBinding)
		after, ok2 := e.ObjectNew.(*v1alpha1.ClusterBinding)
		return ok1 && ok2 && (before.Generation != after.Generation || before.UID != after.UID ||
			!equality.Semantic.DeepEqual(before.Status.Classes, after.Status.Classes))
	}}
}
