package podreturn

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager. It has one worker, because each namespace needs the requests of
// the same pods. Only changes of an offloading enqueue a namespace that has no spec.return.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(r.Local); err != nil {
		return fmt.Errorf("adding what watches the consumer's own nodes: %w", err)
	}
	on := (*changes)(r)
	return ctrl.NewControllerManagedBy(mgr).
		Named("podreturn").
		For(&v1alpha1.NamespaceOffloading{}, builder.WithPredicates(trigger.NotOurs(&r.written))).
		Watches(&v1alpha1.ClusterBinding{}, trigger.OnChangeAfter(inventory.Settle, on.ofBinding)).
		Watches(&corev1.Node{}, trigger.OnChangeAfter(inventory.Settle, on.ofNode)).
		Watches(&corev1.Pod{}, handler.Funcs{
			CreateFunc: func(_ context.Context, e event.CreateEvent, q trigger.Queue) { on.enqueue(e.Object, q) },
			UpdateFunc: func(_ context.Context, e event.UpdateEvent, q trigger.Queue) { on.enqueue(e.ObjectNew, q) },
			DeleteFunc: func(_ context.Context, e event.DeleteEvent, q trigger.Queue) { on.enqueue(e.Object, q) },
		}).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, on.ofChange)).
		WatchesRawSource(source.Func(func(_ context.Context, q trigger.Queue) error {
			r.Local.Follow(func() { on.local(q) })
			return nil
		})).
		WithOptions(trigger.Options[reconcile.Request](mgr, 1)).
		Complete(r)
}

// changes says which namespaces a change concerns.
type changes Reconciler

// enqueue enqueues the namespace of a pod that starts or stops waiting for a node.
func (r *changes) enqueue(pod client.Object, q trigger.Queue) {
	if r.known.has(pod.GetNamespace()) {
		q.AddAfter(trigger.Offloading(pod.GetNamespace()), inventory.Settle)
	}
}

// local enqueues the namespaces with a local tier.
func (r *changes) local(q trigger.Queue) {
	for _, namespace := range r.Local.NeededBy() {
		q.AddAfter(trigger.Offloading(namespace), inventory.Settle)
	}
}

func (r *changes) all() []reconcile.Request { return trigger.OffloadingsOf(r.known.namespaces()) }

// ofBinding returns the namespaces whose tiers a change of a binding may concern. Its heartbeats do not.
func (r *changes) ofBinding(_ context.Context, before, after *v1alpha1.ClusterBinding) []reconcile.Request {
	if before != nil && after != nil && before.Generation == after.Generation && equality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions) &&
		before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.all()
}

// ofNode returns the namespaces to which the room on a virtual node may matter.
func (r *changes) ofNode(_ context.Context, before, after *corev1.Node) []reconcile.Request {
	if virtual(before) || virtual(after) {
		if before == nil || after == nil || differs(before, after) {
			return r.all()
		}
	}
	return nil
}

func virtual(node *corev1.Node) bool {
	return node != nil && node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual
}

// differs reports whether a node has other room, or takes other pods.
func differs(before, after *corev1.Node) bool {
	return open(before) != open(after) || !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		!equality.Semantic.DeepEqual(before.Labels, after.Labels) || !equality.Semantic.DeepEqual(before.Status.Allocatable, after.Status.Allocatable)
}

// ofChange returns the namespaces to which a change on a virtual node matters: room has come or gone.
func (r *changes) ofChange(_ context.Context, change inventory.Change) []reconcile.Request {
	all := r.all()
	if change.Copies || len(all) == 0 { // Without a namespace, nothing is counted.
		return nil
	}
	r.used.changed(change.Binding)
	return all
}
