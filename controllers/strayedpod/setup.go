package strayedpod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager. The manager's cache has only pods without a node, so a
// pod that gets a node is deleted from it.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	leaves := predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("strayedpod").
		For(&v1alpha1.NamespaceOffloading{}, builder.WithPredicates(trigger.NotStatus())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.ofPod), builder.WithPredicates(leaves)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// ofPod enqueues the offloading of a pod that no longer waits for a node, if the pod lacks the webhook's
// changes. The cache holds less than a Pod, and a copy of it is a Pod.
func (r *Reconciler) ofPod(ctx context.Context, obj client.Object) []reconcile.Request {
	pod, ok := obj.DeepCopyObject().(*corev1.Pod)
	if !ok {
		return nil
	}
	nso, key := &v1alpha1.NamespaceOffloading{}, client.ObjectKey{Namespace: pod.Namespace, Name: v1alpha1.OffloadingName}
	if err := r.Client.Get(ctx, key, nso, client.UnsafeDisableDeepCopy); err != nil || unscheduledpod.LocalNodeWarning(pod, nso) == "" {
		return nil // An unreadable offloading is gone, or the manager is stopping.
	}
	return []reconcile.Request{{NamespacedName: key}}
}
