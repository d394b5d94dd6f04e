package stuckpod

import (
	"context"
	"maps"

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
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/trigger"
)

// workers is how many pods are handled at a time: a provider that does not answer holds one of them up.
const workers = 4

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[inventory.Request](mgr).
		Named("stuckpod").
		WatchesRawSource(inventory.Source(r.Inventory, 0, r.ofChange)).
		WatchesRawSource(inventory.ProblemSource(r.Inventory, r.ofPod)).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofOffloading), builder.WithPredicates(r.changed())).
		Watches(&v1alpha1.ClusterBinding{}, trigger.OnChange(r.ofBinding)).
		Watches(&corev1.Node{}, trigger.OnChange(r.ofNode)).
		WithOptions(trigger.Options[inventory.Request](mgr, workers)).
		Complete(r)
}

// changed passes changes of an offloading after which other places may take a pod. What exists at the start is handled
// when the pods are known. What was written about an offloading that is gone is forgotten.
func (r *Reconciler) changed() predicate.Predicate {
	only := trigger.OnlyUpdated(func(before, after *v1alpha1.NamespaceOffloading) bool {
		return before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
			!equality.Semantic.DeepEqual(before.Status.Overflow, after.Status.Overflow) || !equality.Semantic.DeepEqual(before.Status.Full, after.Status.Full)
	})
	only.DeleteFunc = func(gone event.DeleteEvent) bool {
		r.written.Forget(client.ObjectKeyFromObject(gone.Object))
		return false
	}
	return only
}

// ofBinding enqueues all stuck pods once a provider answers again: its own, and those that may go there. It also enqueues
// those that have begun to run there meanwhile.
func (r *Reconciler) ofBinding(ctx context.Context, before, after *v1alpha1.ClusterBinding) []inventory.Request {
	switch {
	case after == nil:
		r.seen.forgetAll(before.Name)
		return nil
	case before != nil && !equality.Semantic.DeepEqual(before.Spec.VirtualNode.Elastic, after.Spec.VirtualNode.Elastic):
		return r.those(ctx, after.Name, corev1.NamespaceAll, stuck) // They wait for more, or for less time.
	case before != nil && namespaceoffloading.Answers(before) || !namespaceoffloading.Answers(after):
		return nil
	}
	return append(r.everywhere(ctx, corev1.NamespaceAll), r.those(ctx, after.Name, corev1.NamespaceAll, r.wasFull)...)
}

// ofNode enqueues all stuck pods once a virtual node is no longer cordoned, or has other labels: they may go there.
func (r *Reconciler) ofNode(ctx context.Context, before, after *corev1.Node) []inventory.Request {
	switch {
	case before == nil || after == nil || after.Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual:
		return nil
	case before.Spec.Unschedulable == after.Spec.Unschedulable && maps.Equal(before.Labels, after.Labels):
		return nil
	}
	return r.everywhere(ctx, corev1.NamespaceAll)
}

// ofChange enqueues the stuck pods of a binding, and those that run although it was full, once they are known, and forgets those that are gone.
func (r *Reconciler) ofChange(ctx context.Context, change inventory.Change) []inventory.Request {
	switch {
	case change.Copies:
		return nil
	case change.Pod == nil:
		return r.those(ctx, change.Binding, corev1.NamespaceAll, func(ctx context.Context, of *corev1.Pod) bool { return pod.StuckOf(of) != nil || r.wasFull(ctx, of) })
	}
	if req := (inventory.Request{Binding: change.Binding, NamespacedName: client.ObjectKeyFromObject(change.Pod)}); r.seen.has(req) {
		return []inventory.Request{req}
	}
	return nil
}

// ofPod enqueues a pod whose provider has begun to refuse it, or runs it although the provider was full.
func (r *Reconciler) ofPod(ctx context.Context, binding string, of *corev1.Pod) []inventory.Request {
	if pod.StuckOf(of) == nil && !r.wasFull(ctx, of) {
		return nil
	}
	return []inventory.Request{{Binding: binding, NamespacedName: client.ObjectKeyFromObject(of)}}
}

// wasFull reports whether a pod runs in a namespace of which a provider has refused pods.
func (r *Reconciler) wasFull(ctx context.Context, of *corev1.Pod) bool {
	nso, key := &v1alpha1.NamespaceOffloading{}, client.ObjectKey{Namespace: of.Namespace, Name: v1alpha1.OffloadingName}
	return of.Status.Phase == corev1.PodRunning && r.Client.Get(ctx, key, nso, client.UnsafeDisableDeepCopy) == nil && len(nso.Status.Full) > 0
}

func (r *Reconciler) ofOffloading(ctx context.Context, nso client.Object) []inventory.Request {
	return r.everywhere(ctx, nso.GetNamespace())
}

func (r *Reconciler) everywhere(ctx context.Context, namespace string) []inventory.Request {
	var requests []inventory.Request
	for _, binding := range r.Inventory.Bindings() {
		requests = append(requests, r.those(ctx, binding, namespace, stuck)...)
	}
	return requests
}

// stuck reports whether its provider refuses a pod, or cannot place it.
func stuck(_ context.Context, of *corev1.Pod) bool { return pod.StuckOf(of) != nil }

// those returns the pods of a binding that match.
func (r *Reconciler) those(ctx context.Context, binding, namespace string, match func(context.Context, *corev1.Pod) bool) []inventory.Request {
	pods, err := r.Inventory.Pods(ctx, binding, namespace)
	if err != nil {
		return nil // They are enqueued when they are known; or the manager stops.
	}
	var requests []inventory.Request
	for i := range pods {
		if match(ctx, &pods[i]) {
			requests = append(requests, inventory.Request{Binding: binding, NamespacedName: client.ObjectKeyFromObject(&pods[i])})
		}
	}
	return requests
}
