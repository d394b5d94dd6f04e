// Package unreport removes what providers have reported from Services, Ingresses and routes, if nobody else
// does so any more. That is the case if no ClusterBinding names the provider, or the namespace is not mapped
// there. A connection removes its own reports (package engine). It cannot if it ended earlier, as with the
// deletionPolicy Orphan, or if the manager was not running.
//
// The reports of a provider stay while it is away or its binding is paused: its load balancers continue to
// serve.
package unreport

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/route"
	"github.com/spillway-io/spillway/internal/engine/address"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespacemaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services/status,verbs=patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses/status,verbs=patch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;grpcroutes,verbs=list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes/status;grpcroutes/status,verbs=patch

// Reconciler reconciles objects of one kind that have reports from providers.
type Reconciler[T address.Addressed] struct {
	Client client.Client
	// SharedCache has all objects of the kind in the consumer.
	SharedCache cache.Cache
	Kind        kind.Kind[T]
	// Reporters returns the clusterIDs of the providers that have reported something on an object, sorted.
	Reporters func(object client.Object) []string
	// Without returns an object without the report of one provider.
	Without func(object T, clusterID string) T
}

// Addresses reconciles Services or Ingresses. Providers report their addresses.
func Addresses[T address.Addressed](writer client.Client, catalogue cache.Cache, of kind.Kind[T]) *Reconciler[T] {
	return &Reconciler[T]{writer, catalogue, of, addressed, func(object T, clusterID string) T {
		return address.WithAddresses(object, clusterID, nil, func(netip.Addr) bool { return false }) // Connections check what stays.
	}}
}

// Routes reconciles routes. Providers report what their controllers say.
func Routes[T route.Route](writer client.Client, catalogue cache.Cache, of kind.Kind[T]) *Reconciler[T] {
	return &Reconciler[T]{writer, catalogue, of, func(object client.Object) []string { return route.RouteReporters(object) }, func(object T, clusterID string) T {
		return route.ReportRoute(object, nil, clusterID, nil, time.Time{})
	}}
}

// Reconcile removes leftover reports from one object.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (ctrl.Result, error) {
	object := r.Kind.New()
	if err := r.SharedCache.Get(ctx, req.NamespacedName, object, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if len(r.Reporters(object)) == 0 {
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
	for _, clusterID := range staleReporters(r.Reporters(object), object.GetNamespace(), bindings.Items, maps.Items) {
		released = r.Without(released, clusterID)
	}
	if released == object {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Status().Patch(ctx, released, precondition.Locked(object)); client.IgnoreNotFound(err) != nil {
		return retry.Done(fmt.Errorf("removing what providers have reported from %s %s: %w", r.Kind.Name, req.NamespacedName, err))
	}
	return ctrl.Result{}, nil
}

// addressed returns the clusterIDs of the providers whose addresses an object has.
func addressed(object client.Object) []string {
	var all []string
	for key := range object.GetAnnotations() {
		if clusterID, is := strings.CutPrefix(key, v1alpha1.AnnotationAddressesPrefix); is {
			all = append(all, clusterID)
		}
	}
	slices.Sort(all)
	return all
}

// staleReporters returns the reporters that no longer have a remote namespace for the namespace.
func staleReporters(reporters []string, namespace string, bindings []v1alpha1.ClusterBinding, maps []v1alpha1.NamespaceMap) []string {
	return slices.DeleteFunc(reporters, func(clusterID string) bool {
		return slices.ContainsFunc(bindings, func(b v1alpha1.ClusterBinding) bool {
			return b.Spec.ClusterID == clusterID && (b.Spec.Paused || mayHave(maps, b.Name, namespace))
		})
	})
}

// mayHave reports whether the provider of a binding may have a remote namespace for a local one. Without a
// NamespaceMap, that is unknown.
func mayHave(maps []v1alpha1.NamespaceMap, binding, namespace string) bool {
	i := slices.IndexFunc(maps, func(m v1alpha1.NamespaceMap) bool { return m.Name == binding })
	return i < 0 ||
		slices.ContainsFunc(maps[i].Spec.DesiredMapping, func(d v1alpha1.DesiredMapping) bool { return d.Namespace == namespace }) ||
		slices.ContainsFunc(maps[i].Status.CurrentMapping, func(c v1alpha1.CurrentMapping) bool { return c.Namespace == namespace })
}
