package world

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// contents returns the kinds of a namespace's contents, in the order in which the namespace controller
// deletes them: pods first, and the rest when they are gone. Events are left out: nobody waits for them, and
// no player watches them.
func contents(c *rig.Cluster) [][]schema.GroupVersionKind {
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	rest := slices.DeleteFunc(sent(false), func(kind schema.GroupVersionKind) bool { return kind == pods })
	if c.ID == Consumer {
		rest = append(rest, v1alpha1.GroupVersion.WithKind("NamespaceOffloading"))
	}
	return [][]schema.GroupVersionKind{{pods}, rest}
}

// sent returns the kinds that are sent to providers. Cluster-scoped kinds are included only if clusterScoped
// is true.
func sent(clusterScoped bool) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, k := range controllers.Kinds() {
		gvk, err := apiutil.GVKForObject(k.New(), manager.Scheme())
		if err != nil {
			panic(err) // The manager would not start either.
		}
		if clusterScoped || k.Scope == kind.ScopeNamespaced {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}

// namespaces plays the namespace controller. It deletes the contents of a namespace that is being deleted,
// respecting grace periods and finalizers, and then the namespace.
func namespaces(mgr ctrl.Manager, c *rig.Cluster) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("namespaces").For(&corev1.Namespace{}).WithOptions(options())
	ofNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: object.GetNamespace()}}}
	})
	goes := builder.WithPredicates(predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
	})
	for _, kinds := range contents(c) {
		for _, kind := range kinds {
			object := &metav1.PartialObjectMetadata{}
			object.SetGroupVersionKind(kind)
			b = b.Watches(object, ofNamespace, goes, builder.OnlyMetadata)
		}
	}
	return b.Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		// Only the watch of the namespace itself starts its deletion.
		known := &corev1.Namespace{}
		if err := mgr.GetClient().Get(ctx, request.NamespacedName, known); err != nil || known.DeletionTimestamp.IsZero() {
			return reconcile.Result{}, settled(err)
		}
		return reconcile.Result{}, settled(finish(ctx, c, request.Name))
	}))
}

// finish takes the next step in the deletion of a namespace. The watches call it again when what it waits for
// is gone.
func finish(ctx context.Context, c *rig.Cluster, name string) error {
	namespace := &corev1.Namespace{}
	if err := c.Admin.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return err
	}
	if namespace.DeletionTimestamp.IsZero() || len(namespace.Spec.Finalizers) == 0 {
		return nil
	}
	for _, kinds := range contents(c) {
		left := 0
		for _, kind := range kinds {
			n, err := deleteAll(ctx, c.Admin, name, kind)
			if err != nil {
				return err
			}
			left += n
		}
		if left > 0 {
			return nil
		}
	}
	if err := c.Admin.DeleteAllOf(ctx, &corev1.Event{}, client.InNamespace(name)); err != nil {
		return err
	}
	namespace.Spec.Finalizers = nil
	return c.Admin.SubResource("finalize").Update(ctx, namespace)
}

// deleteAll deletes all objects of a kind in a namespace, and returns how many are left.
func deleteAll(ctx context.Context, admin client.Client, namespace string, kind schema.GroupVersionKind) (int, error) {
	list := func() (*metav1.PartialObjectMetadataList, error) {
		objects := &metav1.PartialObjectMetadataList{}
		objects.SetGroupVersionKind(kind)
		return objects, admin.List(ctx, objects, client.InNamespace(namespace))
	}
	objects, err := list()
	if err != nil || len(objects.Items) == 0 {
		return 0, err
	}
	for i := range objects.Items {
		object := &objects.Items[i]
		if !object.DeletionTimestamp.IsZero() {
			continue
		}
		object.SetGroupVersionKind(kind)
		if err := admin.Delete(ctx, object, client.Preconditions{UID: &object.UID}); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("deleting %s %s/%s: %w", kind.Kind, namespace, object.Name, err)
		}
	}
	objects, err = list()
	return len(objects.Items), err
}
