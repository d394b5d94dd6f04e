package world

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// collector plays the garbage collector for Spillway's owner references: a ClusterBinding owns its
// NamespaceMap and its Node, and a Node its Lease. It is needed only where somebody deletes a ClusterBinding
// that is not drained.
func collector(mgr ctrl.Manager, c *rig.Cluster) error {
	for name, dependent := range map[string]client.Object{
		"maps": &v1alpha1.NamespaceMap{}, "nodes": &corev1.Node{}, "leases": &coordinationv1.Lease{},
	} {
		r := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			object := dependent.DeepCopyObject().(client.Object)
			err := mgr.GetClient().Get(ctx, request.NamespacedName, object)
			if err == nil {
				err = collect(ctx, c.Admin, object)
			}
			return reconcile.Result{}, settled(err)
		})
		var owner client.Object = &v1alpha1.ClusterBinding{}
		if name == "leases" {
			owner = &corev1.Node{}
		}
		err := ctrl.NewControllerManagedBy(mgr).Named(name).For(dependent).WithOptions(options()).
			Watches(owner, handler.EnqueueRequestsFromMapFunc(dependentOf(name)), builder.WithPredicates(predicate.Funcs{
				CreateFunc: func(event.CreateEvent) bool { return false },
				UpdateFunc: func(event.UpdateEvent) bool { return false },
			})).Complete(r)
		if err != nil {
			return err
		}
	}
	return nil
}

// dependentOf returns the object that a deleted owner owned.
func dependentOf(kind string) handler.MapFunc {
	return func(_ context.Context, owner client.Object) []reconcile.Request {
		key := client.ObjectKey{Name: owner.GetName()}
		if binding, ok := owner.(*v1alpha1.ClusterBinding); ok && kind == "nodes" {
			key.Name = binding.VirtualNodeName()
		}
		if kind == "leases" {
			key.Namespace = corev1.NamespaceNodeLease
		}
		return []reconcile.Request{{NamespacedName: key}}
	}
}

// collect deletes an object whose owners are all gone.
func collect(ctx context.Context, admin client.Client, object client.Object) error {
	if len(object.GetOwnerReferences()) == 0 || !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	for _, reference := range object.GetOwnerReferences() {
		owner := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: reference.APIVersion, Kind: reference.Kind}}
		err := admin.Get(ctx, client.ObjectKey{Name: reference.Name}, owner)
		if client.IgnoreNotFound(err) != nil || err == nil && owner.UID == reference.UID {
			return err
		}
	}
	uid := object.GetUID()
	return admin.Delete(ctx, object, client.Preconditions{UID: &uid})
}
