package clusterbinding

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
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
	of := func(concerns func(changed client.Object, cb *v1alpha1.ClusterBinding) bool) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
			return trigger.Bindings(ctx, r.Client, func(cb *v1alpha1.ClusterBinding) bool { return concerns(changed, cb) })
		})
	}
	b := ctrl.NewControllerManagedBy(mgr)
	if r.Webhook {
		b = b.Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, of(all))
	}
	return b.Named("clusterbinding").
		For(&v1alpha1.ClusterBinding{}).
		Owns(&v1alpha1.NamespaceMap{}).
		Watches(&v1alpha1.ClusterBinding{}, of(sameClusterID), builder.WithPredicates(trigger.NotStatus())).
		Watches(&v1alpha1.ClusterBinding{}, trigger.SharedWith(r.Client)).
		Watches(&v1alpha1.ClusterBinding{}, of(routed), builder.WithPredicates(rangeChanges())).
		Watches(&corev1.Node{}, of(func(node client.Object, cb *v1alpha1.ClusterBinding) bool {
			return cb.VirtualNodeName() == node.GetName() || metav1.IsControlledBy(node, cb)
		})).
		Watches(&corev1.Node{}, of(routed), builder.WithPredicates(rangeChanges())).
		Watches(&corev1.Secret{}, of(func(secret client.Object, cb *v1alpha1.ClusterBinding) bool {
			return cb.Spec.KubeconfigSecretRef.Name == secret.GetName() || r.Webhook && secret.GetName() == v1alpha1.WebhookSecret
		})).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, r.ofResidents)).
		WatchesRawSource(shard.Source(r.Owner, trigger.Named)).
		WatchesRawSource(source.TypedChannel(r.Refusals.Events(), handler.TypedEnqueueRequestsFromMapFunc(r.every))).
		WatchesRawSource(source.TypedChannel(r.Definitions.Events(), handler.TypedEnqueueRequestsFromMapFunc(r.every))).
		WatchesRawSource(source.TypedChannel(r.Endpoints.Events(), &handler.TypedEnqueueRequestForObject[*v1alpha1.ClusterBinding]{})).
		WatchesRawSource(source.TypedChannel(r.Fleet.Events(), &handler.TypedEnqueueRequestForObject[*v1alpha1.ClusterBinding]{})).
		WithOptions(controller.Options{RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// every enqueues all bindings.
func (r *Reconciler) every(ctx context.Context, _ *v1alpha1.ClusterBinding) []reconcile.Request {
	return trigger.Bindings(ctx, r.Client, func(*v1alpha1.ClusterBinding) bool { return true })
}

func all(client.Object, *v1alpha1.ClusterBinding) bool { return true }

// sameClusterID reports whether cb is another binding with the changed one's clusterID: it may hold the
// clusterID now.
func sameClusterID(changed client.Object, cb *v1alpha1.ClusterBinding) bool {
	other, ok := changed.(*v1alpha1.ClusterBinding)
	return ok && other.Name != cb.Name && other.Spec.ClusterID == cb.Spec.ClusterID
}

// routed are the bindings whose ranges may have become somebody else's, or no longer
// are.
func routed(_ client.Object, cb *v1alpha1.ClusterBinding) bool {
	return cb.Spec.Network.Mode == v1alpha1.NetworkRouted
}

// rangeChanges passes the events of bindings and nodes whose address ranges appear, change or are gone.
func rangeChanges() predicate.Predicate {
	has := func(obj client.Object) bool { return rangesOf(obj) != nil }
	return predicate.Funcs{
		CreateFunc: func(e ctrlevent.CreateEvent) bool { return has(e.Object) },
		UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
			return !equality.Semantic.DeepEqual(rangesOf(e.ObjectOld), rangesOf(e.ObjectNew))
		},
		DeleteFunc: func(e ctrlevent.DeleteEvent) bool { return has(e.Object) },
	}
}

// rangesOf returns what the condition PodNetwork compares of a binding or a node, or nil.
func rangesOf(obj client.Object) any {
	switch obj := obj.(type) {
	case *v1alpha1.ClusterBinding:
		if obj.Spec.Network.Mode == v1alpha1.NetworkRouted {
			return obj.Spec.Network
		}
	case *corev1.Node:
		if obj.Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual && len(obj.Spec.PodCIDRs) > 0 {
			return obj.Spec.PodCIDRs
		}
	}
	return nil
}
