package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/state"
	"github.com/spillway-io/spillway/internal/retry"
)

// SetupWithManager adds the controller to the manager. A changed status does not enqueue a cluster. A changed
// spec, a deletion, a changed Secret, and another object that may be for the same cluster do.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("hostedcluster").
		For(&v1alpha1.HostedCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.HostedCluster{}, handler.EnqueueRequestsFromMapFunc(r.namesakes), builder.WithPredicates(predicate.Funcs{UpdateFunc: moved})).
		WatchesRawSource(source.Func(r.callThrough)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// callThrough enqueues clusters that have waited for a seat.
func (r *Reconciler) callThrough(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.seats.call = queue.Add
	return nil
}

// ofSecret returns the clusters that use this Secret.
func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if secret.GetNamespace() != r.Namespace {
		return nil
	}
	return r.those(ctx, func(h *v1alpha1.HostedCluster) bool {
		ref := h.Spec.Credentials.SecretRef
		return ref != nil && ref.Name == secret.GetName()
	})
}

// namesakes returns the other objects that may be for the same cluster.
func (r *Reconciler) namesakes(ctx context.Context, of client.Object) []reconcile.Request {
	changed, ok := of.(*v1alpha1.HostedCluster)
	return r.those(ctx, func(h *v1alpha1.HostedCluster) bool {
		return ok && h.UID != changed.UID && state.Namesakes(h, changed)
	})
}

func moved(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*v1alpha1.HostedCluster)
	after, is := e.ObjectNew.(*v1alpha1.HostedCluster)
	return ok && is && state.Moved(before, after)
}

func (r *Reconciler) those(ctx context.Context, match func(*v1alpha1.HostedCluster) bool) []reconcile.Request {
	var all v1alpha1.HostedClusterList
	if r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if match(&all.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}
