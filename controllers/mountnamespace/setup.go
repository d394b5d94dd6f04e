package mountnamespace

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// workers exceeds the number of providers: each has one key, so that one that does not
// answer blocks one worker, which nobody else needs.
const workers = 256

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr mcmanager.Manager) error {
	r.refusals = workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, mostRetry)
	r.serverErrors = retry.NewServerErrors[string]()
	c, err := mcbuilder.ControllerManagedBy(mgr).
		Named("mountnamespace").
		For(&v1alpha1.ClusterBinding{}, mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false),
			mcbuilder.WithPredicates(changes())).
		Watches(&corev1.Namespace{}, trigger.ToBinding,
			mcbuilder.WithEngageWithLocalCluster(false), mcbuilder.WithEngageWithProviderClusters(true),
			mcbuilder.WithPredicates(mountNamespaces())).
		WithOptions(trigger.Options[mcreconcile.Request](mgr.GetLocalManager(), workers)).
		Build(r)
	if err != nil {
		return err
	}
	return c.MultiClusterWatch(trigger.OnEngage{})
}

// changes passes changes of a binding's spec, and of the step that its deletion has
// reached.
func changes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, // Engaging its provider is what counts.
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*v1alpha1.ClusterBinding)
			after, ok2 := e.ObjectNew.(*v1alpha1.ClusterBinding)
			return !ok1 || !ok2 || before.Generation != after.Generation ||
				conditions.Reason(before.Status.Conditions, v1alpha1.BindingDrained) != conditions.Reason(after.Status.Conditions, v1alpha1.BindingDrained)
		},
	}
}

// mountNamespaces passes the remote namespaces that represent no local one. What exists
// when a provider is engaged is no news.
func mountNamespaces() predicate.Predicate {
	mounts := func(object client.Object) bool { return provenance.LocalOf(object).Namespace == "" }
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList && mounts(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			going := e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
			return mounts(e.ObjectOld) != mounts(e.ObjectNew) || (going && mounts(e.ObjectNew))
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return mounts(e.Object) },
	}
}
