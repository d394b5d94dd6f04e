// Package unreport takes out of Services and Ingresses the addresses in providers for which nobody
// does it any more: no ClusterBinding names the provider, or the namespace is not mapped there.
// A connection takes out its own (package syncer), unless it has ended first, as with the
// deletionPolicy Orphan, or the manager was not running.
//
// A provider that is away, or whose binding is paused, keeps its addresses: its load balancers
// serve on.
package unreport

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/translate"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespacemaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services/status,verbs=patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses/status,verbs=patch

// Reconciler reconciles objects of one kind with addresses of providers.
type Reconciler[T translate.Addressed] struct {
	Client client.Client
	// Catalogue has all Services and Ingresses of the consumer.
	Catalogue cache.Cache
	Kind      kind.Kind[T]
}

// Reconcile takes out of one object what is left.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	object := r.Kind.New()
	if err := r.Catalogue.Get(ctx, req.NamespacedName, object, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if len(reporters(object)) == 0 {
		return ctrl.Result{}, nil
	}
	var bindings v1alpha1.ClusterBindingList
	var maps v1alpha1.NamespaceMapList
	if err := r.Client.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	if err := r.Client.List(ctx, &maps, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing NamespaceMaps: %w", err)
	}
	released := object
	for _, clusterID := range left(object, bindings.Items, maps.Items) {
		released = translate.WithAddresses(released, clusterID, nil, func(netip.Addr) bool { return false }) // Connections check what stays.
	}
	if released == object {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Status().Patch(ctx, released, precondition.Locked(object)); client.IgnoreNotFound(err) != nil {
		return retry.Done(fmt.Errorf("taking addresses of providers out of %s %s: %w", r.Kind.Name, req.NamespacedName, err))
	}
	return ctrl.Result{}, nil
}

// reporters are the clusterIDs of the providers whose addresses an object has.
func reporters(object client.Object) []string {
	var all []string
	for key := range object.GetAnnotations() {
		if clusterID, is := strings.CutPrefix(key, v1alpha1.AnnotationAddressesPrefix); is {
			all = append(all, clusterID)
		}
	}
	slices.Sort(all)
	return all
}

// left are those of them that have no counterpart of the object any more.
func left(object client.Object, bindings []v1alpha1.ClusterBinding, maps []v1alpha1.NamespaceMap) []string {
	return slices.DeleteFunc(reporters(object), func(clusterID string) bool {
		return slices.ContainsFunc(bindings, func(b v1alpha1.ClusterBinding) bool {
			return b.Spec.ClusterID == clusterID && (b.Spec.Paused || mayHave(maps, b.Name, object.GetNamespace()))
		})
	})
}

// mayHave reports whether the provider of a binding may have a counterpart of a namespace. While
// there is no NamespaceMap, that is not known.
func mayHave(maps []v1alpha1.NamespaceMap, binding, namespace string) bool {
	i := slices.IndexFunc(maps, func(m v1alpha1.NamespaceMap) bool { return m.Name == binding })
	return i < 0 ||
		slices.ContainsFunc(maps[i].Spec.DesiredMapping, func(d v1alpha1.DesiredMapping) bool { return d.Namespace == namespace }) ||
		slices.ContainsFunc(maps[i].Status.CurrentMapping, func(c v1alpha1.CurrentMapping) bool { return c.Namespace == namespace })
}
