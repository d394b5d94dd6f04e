package importedclass

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
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.replaced = throttle.NewAllowance[Request](fewReplaced, replaceInterval, r.Clock)
	b := builder.TypedControllerManagedBy[Request](mgr).
		Named("importedclass").
		Watches(&v1alpha1.ClusterBinding{}, handler.TypedEnqueueRequestsFromMapFunc(imported), builder.WithPredicates(changes()))
	for kind, object := range fresh {
		b = b.Watches(object(), handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, class client.Object) []Request {
			return []Request{{kind, class.GetName()}}
		}))
	}
	return b.WithOptions(trigger.Options[Request](mgr, 1)).Complete(r)
}

// imported are the classes that a binding imports. Of a change, both states are looked at.
func imported(_ context.Context, object client.Object) (all []Request) {
	binding, ok := object.(*v1alpha1.ClusterBinding)
	if !ok {
		return nil
	}
	for _, mapping := range binding.Spec.Classes {
		if mapping.Import && fresh[mapping.Kind] != nil {
			all = append(all, Request{mapping.Kind, mapping.Name})
		}
	}
	return all
}

// changes passes what classes depend on.
func changes() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.ClusterBinding)
		after, ok2 := e.ObjectNew.(*v1alpha1.ClusterBinding)
		return ok1 && ok2 && (before.Generation != after.Generation || before.UID != after.UID ||
			!equality.Semantic.DeepEqual(before.Status.Classes, after.Status.Classes))
	}}
}
