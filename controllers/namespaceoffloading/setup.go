package namespaceoffloading

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Lifecycle) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("namespaceoffloading").
		For(&v1alpha1.NamespaceOffloading{}, builder.WithPredicates(predicate.Or(trigger.NotStatus(), answers()))).
		Watches(&v1alpha1.NamespaceMap{}, trigger.OnChange(r.ofMap)).
		Watches(&v1alpha1.ClusterBinding{}, handler.EnqueueRequestsFromMapFunc(r.deleting), builder.WithPredicates(trigger.Reach())).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, func(ctx context.Context, change inventory.Change) []reconcile.Request {
			return trigger.OffloadingsOf(inventory.Offloadings(ctx, r.Client, change))
		})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// answers passes that the owner of an offloading says what becomes of its volumes.
func answers() predicate.Predicate {
	answer := func(nso *v1alpha1.NamespaceOffloading) [2]string {
		return [2]string{nso.Annotations[v1alpha1.AnnotationLoseVolumes], nso.Annotations[v1alpha1.AnnotationKeepVolumes]}
	}
	return trigger.OnlyUpdated(func(before, after *v1alpha1.NamespaceOffloading) bool { return answer(before) != answer(after) })
}

// ofMap returns the offloadings that a change of a map may affect. These are the offloadings whose entries have
// gone. If the map's status is up to date or its counts have changed, they include the offloadings that are
// being deleted.
func (r *Lifecycle) ofMap(ctx context.Context, was, is *v1alpha1.NamespaceMap) []reconcile.Request {
	none := &v1alpha1.NamespaceMap{}
	gone := namespacemap.Namespaces(cmp.Or(was, none)).Difference(namespacemap.Namespaces(cmp.Or(is, none)))
	requests := trigger.OffloadingsOf(gone.UnsortedList())
	if was != nil && is != nil && (is.Status.ObservedGeneration == is.Generation || countChanges(was, is)) {
		requests = append(requests, r.deleting(ctx, is)...)
	}
	return requests
}

// countChanges reports whether a map's counts of pods that must leave have changed.
func countChanges(before, after *v1alpha1.NamespaceMap) bool {
	return !equality.Semantic.DeepEqual(before.Status.LeavingPods, after.Status.LeavingPods)
}

// deleting returns the offloadings that are being deleted.
func (r *Lifecycle) deleting(ctx context.Context, _ client.Object) []reconcile.Request {
	return trigger.Offloadings(ctx, r.Client, func(nso *v1alpha1.NamespaceOffloading) bool { return !nso.DeletionTimestamp.IsZero() })
}

// SetupWithManager adds the controller to the manager.
func (r *Mapping) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("namespacemapping").
		For(&v1alpha1.ClusterBinding{}, builder.WithPredicates(mappingChanges())).
		Watches(&v1alpha1.NamespaceMap{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(entryChanges())).
		Watches(&v1alpha1.ClusterBinding{}, trigger.SharedWith(r.Client)).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.EnqueueRequestsFromMapFunc(r.allBindings), builder.WithPredicates(trigger.NotStatus())).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, func(ctx context.Context, change inventory.Change) []reconcile.Request {
			if len(inventory.Offloadings(ctx, r.Client, change)) == 0 {
				return nil
			}
			return []reconcile.Request{trigger.Named(change.Binding)}
		})).
		WithOptions(controller.Options{RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// mappingChanges passes the changes of a binding that affect its map: its spec, its deletion, and the
// deletion's step.
func mappingChanges() predicate.Predicate {
	return trigger.Updated(func(before, after *v1alpha1.ClusterBinding) bool {
		return before.Generation != after.Generation || placement.Identified(before, after) ||
			conditions.Reason(before.Status.Conditions, v1alpha1.BindingDrained) != conditions.Reason(after.Status.Conditions, v1alpha1.BindingDrained) ||
			conditions.Reason(before.Status.Conditions, v1alpha1.BindingReady) != conditions.Reason(after.Status.Conditions, v1alpha1.BindingReady)
	})
}

// entryChanges passes changes of a map's spec, and of counts of pods that must leave: an unwanted entry may
// have waited for that. It also passes a remote namespace in the status that has no entry, and the first report
// on one.
func entryChanges() predicate.Predicate {
	return trigger.Updated(func(before, after *v1alpha1.NamespaceMap) bool {
		return before.Generation != after.Generation || namespacemap.FirstReported(before, after) || countChanges(before, after) ||
			len(namespacemap.Entries(after)) > len(after.Spec.DesiredMapping)
	})
}

// allBindings enqueues every binding.
func (r *Mapping) allBindings(ctx context.Context, _ client.Object) []reconcile.Request {
	return trigger.Bindings(ctx, r.Client, func(*v1alpha1.ClusterBinding) bool { return true })
}
