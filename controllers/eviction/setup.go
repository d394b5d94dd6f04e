package eviction

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/trigger"
)

// workers is how many pods are evicted at a time. An eviction costs the API server three requests. One of them
// changes a budget that the next eviction needs.
const workers = 8

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[Request](mgr).
		Named("eviction").
		WatchesRawSource(inventory.Source(r.Inventory, 0, r.ofChange)).
		Watches(&v1alpha1.ClusterBinding{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofBinding), builder.WithPredicates(later(), trigger.NotStatus())).
		Watches(&corev1.Node{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofNode), builder.WithPredicates(later(), cordoned())).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.TypedEnqueueRequestsFromMapFunc(r.ofOffloading), builder.WithPredicates(later(), trigger.NotStatus())).
		Watches(&v1alpha1.NamespaceMap{}, trigger.OnChange(r.ofMap), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(trigger.Options[Request](mgr, workers)).
		Complete(r)
}

// later skips the objects that exist at the start: the pods are checked when the views are full.
func later() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// cordoned passes a node that has become unschedulable, or is so for another reason, or whose group has gone.
func cordoned() predicate.Predicate {
	return trigger.Updated(func(before, after *corev1.Node) bool {
		return after.Spec.Unschedulable && (!before.Spec.Unschedulable || before.Annotations[v1alpha1.AnnotationCordoned] != after.Annotations[v1alpha1.AnnotationCordoned] ||
			eviction.GroupGone(after) && !eviction.GroupGone(before))
	})
}

// ofChange returns the pods that a change concerns and that must leave, or had to. The latter are then
// forgotten.
func (r *Reconciler) ofChange(ctx context.Context, change inventory.Change) []Request {
	if change.Copies {
		return nil
	}
	if change.Pod == nil {
		return r.leaving(ctx, change.Binding, "")
	}
	if request := (Request{Binding: change.Binding, NamespacedName: client.ObjectKeyFromObject(change.Pod)}); r.Tries.Know(request) {
		return []Request{request}
	}
	return r.ifLeaving(ctx, change.Binding, change.Pod)
}

func (r *Reconciler) ofBinding(ctx context.Context, binding client.Object) []Request {
	return r.leaving(ctx, binding.GetName(), "")
}

func (r *Reconciler) ofNode(ctx context.Context, node client.Object) []Request {
	var requests []Request
	for _, binding := range trigger.Bindings(ctx, r.Client, func(cb *v1alpha1.ClusterBinding) bool { return metav1.IsControlledBy(node, cb) }) {
		requests = append(requests, r.leaving(ctx, binding.Name, "")...)
	}
	return requests
}

func (r *Reconciler) ofOffloading(ctx context.Context, nso client.Object) []Request {
	var requests []Request
	for _, binding := range r.Inventory.Bindings() {
		requests = append(requests, r.leaving(ctx, binding, nso.GetNamespace())...)
	}
	return requests
}

// ofMap returns the pods of the namespaces whose entries differ.
func (r *Reconciler) ofMap(ctx context.Context, before, after *v1alpha1.NamespaceMap) []Request {
	if before == nil || after == nil {
		return nil
	}
	var requests []Request
	for namespace := range namespacemap.Changed(before, after) {
		requests = append(requests, r.leaving(ctx, after.Name, namespace)...)
	}
	return requests
}

// leaving returns the pods that must leave the virtual node of a binding, in one namespace. An empty namespace
// means all.
func (r *Reconciler) leaving(ctx context.Context, binding, namespace string) []Request {
	pods, err := r.Inventory.Pods(ctx, binding, namespace)
	if err != nil {
		return nil // They are enqueued when the view is full. Or the view is ending.
	}
	var requests []Request
	for i := range pods {
		requests = append(requests, r.ifLeaving(ctx, binding, &pods[i])...)
	}
	return requests
}

// ifLeaving checks a pod before it enqueues it: most pods stay, and enqueuing each would cause thousands of
// reconciles.
func (r *Reconciler) ifLeaving(ctx context.Context, binding string, pod *corev1.Pod) []Request {
	cause, err := r.cause(ctx, binding, pod)
	if err != nil {
		log.FromContext(ctx).Error(err, "whether a pod has to leave is looked at again", "pod", client.ObjectKeyFromObject(pod))
	} else if cause == eviction.Stays {
		return nil
	}
	return []Request{{Binding: binding, NamespacedName: client.ObjectKeyFromObject(pod)}}
}
