package stuckpod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager. It has one worker: pods that are refused together need one
// write of the status.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[inventory.Request](mgr).
		Named("stuckpod").
		WatchesRawSource(inventory.Source(r.Inventory, 0, r.ofChange)).
		WatchesRawSource(inventory.ProblemSource(r.Inventory, r.ofPod)).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofOffloading), builder.WithPredicates(changed())).
		Watches(&v1alpha1.ClusterBinding{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofBinding), builder.WithPredicates(resumed())).
		WithOptions(trigger.Options[inventory.Request](mgr, 1)).
		Complete(r)
}

// changed passes changes of an offloading after which other places may take a pod. What exists at the start is handled
// when the pods are known.
func changed() predicate.Predicate {
	only := trigger.OnlyUpdated(func(before, after *v1alpha1.NamespaceOffloading) bool {
		return before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
			!equality.Semantic.DeepEqual(before.Status.Overflow, after.Status.Overflow) || !equality.Semantic.DeepEqual(before.Status.Full, after.Status.Full)
	})
	only.DeleteFunc = func(event.DeleteEvent) bool { return false }
	return only
}

// resumed passes a binding that is no longer paused.
func resumed() predicate.Predicate {
	only := trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool { return before.Spec.Paused && !after.Spec.Paused })
	only.DeleteFunc = func(event.DeleteEvent) bool { return false }
	return only
}

func (r *Reconciler) ofBinding(ctx context.Context, binding client.Object) []inventory.Request {
	return r.stuck(ctx, binding.GetName(), corev1.NamespaceAll)
}

// ofChange enqueues all stuck pods of a binding once they are known, and forgets those that are gone.
func (r *Reconciler) ofChange(ctx context.Context, change inventory.Change) []inventory.Request {
	switch {
	case change.Copies:
		return nil
	case change.Pod == nil:
		return r.stuck(ctx, change.Binding, corev1.NamespaceAll)
	}
	req := inventory.Request{Binding: change.Binding, NamespacedName: client.ObjectKeyFromObject(change.Pod)}
	if _, told := r.told.Load(req); told {
		return []inventory.Request{req}
	}
	return nil
}

// ofPod enqueues a pod whose provider has begun to refuse it.
func (*Reconciler) ofPod(binding string, changed *corev1.Pod) []inventory.Request {
	if pod.StuckOf(changed) == nil {
		return nil
	}
	return []inventory.Request{{Binding: binding, NamespacedName: client.ObjectKeyFromObject(changed)}}
}

func (r *Reconciler) ofOffloading(ctx context.Context, nso client.Object) []inventory.Request {
	var requests []inventory.Request
	for _, binding := range r.Inventory.Bindings() {
		requests = append(requests, r.stuck(ctx, binding, nso.GetNamespace())...)
	}
	return requests
}

// stuck returns the pods of a binding that their provider refuses or cannot place.
func (r *Reconciler) stuck(ctx context.Context, binding, namespace string) []inventory.Request {
	pods, err := r.Inventory.Pods(ctx, binding, namespace)
	if err != nil {
		return nil // They are enqueued when they are known; or the manager stops.
	}
	var requests []inventory.Request
	for i := range pods {
		requests = append(requests, r.ofPod(binding, &pods[i])...)
	}
	return requests
}
