// Package release removes what Spillway has put on the consumer's objects for a provider, where no connection to
// that provider does so.
//
// Deleted objects lose their protection: the finalizer, the label and the annotation of a provider that is away,
// or that no ClusterBinding names, for example because the object comes from a backup. Package engine deletes
// the remaining copies when the provider is back. A provider whose binding is paused does not count as away:
// somebody has asked to wait. PersistentVolumes that stand for volumes of the provider wait for it, as long as a
// ClusterBinding names it.
//
// Services, Ingresses and routes lose what a provider has reported, if no ClusterBinding names the provider, or
// the namespace is not mapped there. A connection removes its own reports. It cannot if it ended earlier, as with
// the deletionPolicy Orphan, or if the manager was not running. The reports stay while a provider is away or its
// binding is paused: its load balancers continue to serve.
package release

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespacemaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets;persistentvolumeclaims;persistentvolumes,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=services/status,verbs=patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses/status,verbs=patch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;grpcroutes,verbs=list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes/status;grpcroutes/status,verbs=patch

// Reconciler reconciles objects that have something for a provider.
type Reconciler struct {
	client client.Client
	// cache has all objects of the kinds.
	cache               cache.Cache
	protected, reported []*kind
}

// Request is an object of a kind.
type Request struct {
	kind *kind
	types.NamespacedName
}

// Reconcile releases one object.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (ctrl.Result, error) {
	object, err := req.kind.get(ctx, r.cache, req.NamespacedName)
	if err != nil || len(req.kind.providers(object)) == 0 {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var bindings v1alpha1.ClusterBindingList
	var maps v1alpha1.NamespaceMapList
	if err := r.client.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	if err := r.client.List(ctx, &maps, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing NamespaceMaps: %w", err)
	}
	released := req.kind.release(object, observed{bindings.Items, maps.Items})
	if released == object {
		return ctrl.Result{}, nil
	}
	if err := req.kind.write(ctx, r.client, object, released); client.IgnoreNotFound(err) != nil {
		return retry.Done(fmt.Errorf("releasing %s %s: %w", req.kind.name, req.NamespacedName, err))
	}
	return ctrl.Result{}, nil
}
