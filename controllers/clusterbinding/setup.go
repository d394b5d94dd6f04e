package clusterbinding

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr)
	if r.Webhook {
		b = b.Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, handler.EnqueueRequestsFromMapFunc(r.all))
	}
	return b.Named("clusterbinding").
		For(&v1alpha1.ClusterBinding{}).
		Owns(&v1alpha1.NamespaceMap{}).
		Watches(&v1alpha1.ClusterBinding{}, handler.EnqueueRequestsFromMapFunc(r.sameClusterID)).
		Watches(&v1alpha1.ClusterBinding{}, trigger.SharedWith(r.Client)).
		Watches(&v1alpha1.ClusterBinding{}, handler.EnqueueRequestsFromMapFunc(r.routed), builder.WithPredicates(rangeChanges())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.ofNode)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.routed), builder.WithPredicates(rangeChanges())).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.ofSecret)).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, r.ofResidents)).
		WatchesRawSource(shard.Source(r.Owner, trigger.Named)).
		WatchesRawSource(source.TypedChannel(r.Refusals.Events(), handler.TypedEnqueueRequestsFromMapFunc(
			func(ctx context.Context, cb *v1alpha1.ClusterBinding) []reconcile.Request { return r.all(ctx, cb) }))).
		WatchesRawSource(source.TypedChannel(r.Fleet.Events(), handler.TypedEnqueueRequestsFromMapFunc(
			func(_ context.Context, cb *v1alpha1.ClusterBinding) []reconcile.Request {
				return []reconcile.Request{trigger.Named(cb.Name)}
			}))).
		WithOptions(controller.Options{RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return trigger.Bindings(ctx, r.Client, func(*v1alpha1.ClusterBinding) bool { return true })
}

// sameClusterID are the other bindings with a clusterID: another one may hold it now.
func (r *Reconciler) sameClusterID(ctx context.Context, obj client.Object) []reconcile.Request {
	cb, ok := obj.(*v1alpha1.ClusterBinding)
	if !ok {
		return nil
	}
	return trigger.Bindings(ctx, r.Client, func(other *v1alpha1.ClusterBinding) bool {
		return other.Name != cb.Name && other.Spec.ClusterID == cb.Spec.ClusterID
	})
}

// routed are the bindings whose ranges may have become somebody else's, or no longer
// are.
func (r *Reconciler) routed(ctx context.Context, _ client.Object) []reconcile.Request {
	return trigger.Bindings(ctx, r.Client, func(cb *v1alpha1.ClusterBinding) bool { return cb.Spec.Network.Mode == v1alpha1.NetworkRouted })
}

// rangeChanges passes the events of bindings and nodes whose address ranges change.
func rangeChanges() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(rangesOf(e.ObjectOld), rangesOf(e.ObjectNew))
	}}
}

func rangesOf(obj client.Object) any {
	switch obj := obj.(type) {
	case *v1alpha1.ClusterBinding:
		return obj.Spec.Network
	case *corev1.Node:
		if obj.Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual {
			return obj.Spec.PodCIDRs
		}
	}
	return nil
}

func (r *Reconciler) ofNode(ctx context.Context, node client.Object) []reconcile.Request {
	return trigger.Bindings(ctx, r.Client, func(cb *v1alpha1.ClusterBinding) bool { return cb.VirtualNodeName() == node.GetName() })
}

func (r *Reconciler) ofSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if r.Webhook && secret.GetName() == v1alpha1.WebhookSecret {
		return r.all(ctx, secret)
	}
	return trigger.Bindings(ctx, r.Client, func(cb *v1alpha1.ClusterBinding) bool {
		return cb.Spec.KubeconfigSecretRef.Name == secret.GetName()
	})
}
