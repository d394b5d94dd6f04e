// Package unpin releases deleted objects that have copies in a provider that nobody works for. Such a provider
// is away, or no ClusterBinding names it, for example because the object comes from a backup. The package
// removes the provider's finalizer, label and annotation. Package engine deletes the remaining copies when the
// provider is back.
//
// A provider whose binding is paused does not count as away: somebody has asked to wait.
package unpin

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets;persistentvolumeclaims;persistentvolumes,verbs=list;watch;patch

// Request is an object of the consumer.
type Request struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// Reconciler reconciles objects that have finalizers of Spillway and are being deleted.
type Reconciler struct {
	Client client.Client
	Views  *views.Views
}

// Reconcile releases one object.
func (r *Reconciler) Reconcile(ctx context.Context, req Request) (ctrl.Result, error) {
	obj, err := inventory.GetMetadata(ctx, r.Views, req.GroupVersionKind, req.NamespacedName)
	if err != nil || obj == nil {
		return ctrl.Result{}, err
	}
	var bindings v1alpha1.ClusterBindingList
	if err := r.Client.List(ctx, &bindings, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	before := obj.DeepCopy()
	if !decide.Release(obj, func(clusterID string) bool { return isServed(bindings.Items, clusterID) }) {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Patch(ctx, obj, precondition.LockedKeeping(before)); client.IgnoreNotFound(err) != nil {
		return retry.Done(fmt.Errorf("releasing %s %s: %w", req.Kind, req.NamespacedName, err))
	}
	return ctrl.Result{}, nil
}

// isServed reports whether objects may wait for a provider: a binding names it, and it is not away.
func isServed(bindings []v1alpha1.ClusterBinding, clusterID string) bool {
	return slices.ContainsFunc(bindings, func(cb v1alpha1.ClusterBinding) bool { return cb.Spec.ClusterID == clusterID && !away(&cb) })
}

func away(binding *v1alpha1.ClusterBinding) bool {
	reason, _ := namespaceoffloading.Away(binding)
	return reason != "" && reason != v1alpha1.ReasonPaused
}

// waits reports whether an object is being deleted and has a finalizer of Spillway.
func waits(obj metav1.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && len(decide.ProtectedFor(obj)) > 0
}
