package offloadingstatus

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.firsts.since = r.Clock.Now()
	return ctrl.NewControllerManagedBy(mgr).
		Named("offloadingstatus").
		For(&v1alpha1.NamespaceOffloading{}, builder.WithPredicates(trigger.NotOurs(&r.written))).
		Watches(&v1alpha1.NamespaceMap{}, trigger.OnChange(changed)).
		Watches(&v1alpha1.ClusterBinding{}, trigger.OnChange(r.affected)).
		Watches(&corev1.Pod{}, handler.Funcs{
			CreateFunc: func(ctx context.Context, e event.CreateEvent, q trigger.Queue) { r.enqueueWaiting(ctx, e.Object, q) },
			UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q trigger.Queue) {
				r.enqueueWaiting(ctx, e.ObjectNew, q)
			},
			DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q trigger.Queue) { r.enqueueWaiting(ctx, e.Object, q) },
		}).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, func(ctx context.Context, change inventory.Change) []reconcile.Request {
			return trigger.OffloadingsOf(inventory.Offloadings(ctx, r.Client, change))
		})).
		WatchesRawSource(inventory.WaitingSource(r.Inventory, trigger.Offloading)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4, RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// enqueueWaiting enqueues the offloading of a pod that starts or stops waiting for a node, if that offloading
// reports such pods.
func (r *Reconciler) enqueueWaiting(ctx context.Context, pod client.Object, q trigger.Queue) {
	nso := &v1alpha1.NamespaceOffloading{}
	key := client.ObjectKey{Namespace: pod.GetNamespace(), Name: v1alpha1.OffloadingName}
	if err := r.Client.Get(ctx, key, nso, client.UnsafeDisableDeepCopy); err == nil && namespaceoffloading.ReportsWaiting(nso) {
		q.AddAfter(trigger.Offloading(nso.Namespace), inventory.Settle)
	}
}

// changed returns the offloadings whose entries differ.
func changed(_ context.Context, was, is *v1alpha1.NamespaceMap) []reconcile.Request {
	none := &v1alpha1.NamespaceMap{}
	return trigger.OffloadingsOf(namespacemap.Changed(cmp.Or(was, none), cmp.Or(is, none)).UnsortedList())
}

// affected returns the offloadings that a change of a binding affects.
func (r *Reconciler) affected(ctx context.Context, was, is *v1alpha1.ClusterBinding) []reconcile.Request {
	if concerned := concernedBy(was, is); concerned != nil {
		return trigger.Offloadings(ctx, r.Client, concerned)
	}
	return nil
}

// concernedBy says which offloadings a change of a binding affects. These are the offloadings that select the
// binding only before or only after the change. If the binding's reachability has changed, they include those
// that select it or wait for something. If refusals of the manager's writes have changed, they include those
// that wait. It returns nil if the change affects none.
func concernedBy(was, is *v1alpha1.ClusterBinding) func(*v1alpha1.NamespaceOffloading) bool {
	moved := func(nso *v1alpha1.NamespaceOffloading) bool {
		return selects(nso, was) != selects(nso, is) || was != nil && is != nil && spill.TierOf(&nso.Spec, was) != spill.TierOf(&nso.Spec, is)
	}
	switch {
	case is == nil: // A deleted binding may make room for another with its clusterID.
		return func(nso *v1alpha1.NamespaceOffloading) bool { return matches(nso, was) }
	case was == nil:
		return moved
	}
	changed := was.Generation != is.Generation
	reach := namespaceoffloading.Unreachable(was) != namespaceoffloading.Unreachable(is)
	refused := namespaceoffloading.WritesRefused(was) != namespaceoffloading.WritesRefused(is)
	// For a provider that is bound twice, its identity decides which binding has a namespace.
	known := placement.Identified(was, is)
	if !changed && !reach && !refused && !known {
		return nil
	}
	return func(nso *v1alpha1.NamespaceOffloading) bool {
		waiting := (reach || refused) && nso.Status.OffloadingPhase != v1alpha1.OffloadingPhaseReady
		return waiting || (changed && moved(nso)) || ((known || reach) && selects(nso, is))
	}
}

func selects(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding) bool {
	return binding != nil && binding.DeletionTimestamp.IsZero() && matches(nso, binding)
}

func matches(nso *v1alpha1.NamespaceOffloading, binding *v1alpha1.ClusterBinding) bool {
	if binding == nil {
		return false
	}
	selected, err := placement.Selects(nso.Spec.Selector(), binding)
	return err == nil && selected
}
