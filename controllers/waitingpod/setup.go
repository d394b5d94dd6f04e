package waitingpod

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[inventory.Request](mgr).
		Named("waitingpod").
		WatchesRawSource(inventory.Source(r.Inventory, 0, r.ofChange)).
		Watches(&v1alpha1.ClusterBinding{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofBinding), builder.WithPredicates(goesAway())).
		WithOptions(trigger.Options[inventory.Request](mgr, 1)).
		Complete(r)
}

// goesAway passes a binding whose provider has become unusable, or is so for another
// cause. What exists at the start is handled when the pods are known.
func goesAway() predicate.Predicate {
	only := trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool {
		return away(after) != "" && away(before) != away(after)
	})
	only.DeleteFunc = func(event.DeleteEvent) bool { return false }
	return only
}

func away(binding *v1alpha1.ClusterBinding) string {
	reason, _ := namespaceoffloading.Away(binding)
	return reason
}

// ofChange enqueues the pods that arrive on a virtual node whose provider is away.
func (r *Reconciler) ofChange(ctx context.Context, change inventory.Change) []inventory.Request {
	if change.Copies {
		return nil
	}
	binding := &v1alpha1.ClusterBinding{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: change.Binding}, binding, client.UnsafeDisableDeepCopy)
	switch {
	case err != nil || away(binding) == "": // An unreadable one is gone, or the manager stops.
		return nil
	case change.Pod == nil:
		return r.ofBinding(ctx, binding)
	case pod.Sent(change.Pod):
		return nil
	}
	return []inventory.Request{{Binding: change.Binding, NamespacedName: client.ObjectKeyFromObject(change.Pod)}}
}

// ofBinding enqueues all pods of a binding that have not been sent.
func (r *Reconciler) ofBinding(ctx context.Context, binding client.Object) []inventory.Request {
	pods, err := r.Inventory.Pods(ctx, binding.GetName(), corev1.NamespaceAll)
	if err != nil {
		return nil // They are enqueued when they are known; or the manager stops.
	}
	var requests []inventory.Request
	for i := range pods {
		if !pod.Sent(&pods[i]) {
			requests = append(requests, inventory.Request{Binding: binding.GetName(), NamespacedName: client.ObjectKeyFromObject(&pods[i])})
		}
	}
	return requests
}
