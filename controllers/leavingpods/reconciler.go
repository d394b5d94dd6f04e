// Package leavingpods counts, in the status of each NamespaceMap, the pods that must
// leave the virtual node of its ClusterBinding. It writes nothing else, and runs only
// where replicas share the bindings: the elected one, which decides when a
// NamespaceOffloading may go, does not watch the pods of the others' bindings.
package leavingpods

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/leavingpods"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings;namespacemaps;namespaceoffloadings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=namespacemaps/status,verbs=patch

// Reconciler counts for the bindings that this replica works for.
type Reconciler struct {
	Client    client.Client
	Inventory *inventory.Inventory
	Owner     shard.Owner
	// Pace spaces out the writes of one map.
	Pace *throttle.Pacer
}

// Reconcile brings the counts of one NamespaceMap up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	binding, nsm := &v1alpha1.ClusterBinding{}, &v1alpha1.NamespaceMap{}
	if err := errors.Join(r.Client.Get(ctx, req.NamespacedName, binding), r.Client.Get(ctx, req.NamespacedName, nsm)); err != nil {
		r.Pace.Forget(req.Name)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Owner.Owns(binding.Name) || !nsm.DeletionTimestamp.IsZero() || !metav1.IsControlledBy(nsm, binding) {
		return ctrl.Result{}, nil
	}
	left, err := r.count(ctx, binding, nsm)
	if errors.Is(err, inventory.ErrUnknown) {
		return ctrl.Result{}, nil // The inventory queues us again once it is known.
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	before := nsm.DeepCopy()
	nsm.Status.LeavingPods = leavingpods.Status(left)
	if equality.Semantic.DeepEqual(before.Status, nsm.Status) {
		return ctrl.Result{}, nil
	}
	if wait := r.Pace.Wait(nsm.Name); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if err := r.Client.Status().Patch(ctx, nsm, precondition.Locked(before)); err != nil {
		return retry.Done(fmt.Errorf("counting the pods that must leave in the status of NamespaceMap %s: %w", nsm.Name, err))
	}
	r.Pace.Wrote(nsm.Name)
	return ctrl.Result{}, nil
}

// count counts the pods to report, by local namespace.
func (r *Reconciler) count(ctx context.Context, binding *v1alpha1.ClusterBinding, nsm *v1alpha1.NamespaceMap) (map[string]eviction.Remaining, error) {
	var all v1alpha1.NamespaceOffloadingList
	if err := r.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing NamespaceOffloadings: %w", err)
	}
	mapped, counts := leavingpods.Mapped(nsm), map[string]eviction.Remaining{}
	for i := range all.Items {
		nso := &all.Items[i]
		if !leavingpods.Reports(nso, binding, mapped) {
			continue
		}
		left, err := r.Inventory.Remaining(ctx, binding.Name, nso.Namespace)
		if err != nil {
			return nil, err
		}
		counts[nso.Namespace] = left
	}
	return counts, nil
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("leavingpods").
		For(&v1alpha1.NamespaceMap{}).
		Watches(&v1alpha1.ClusterBinding{}, &handler.EnqueueRequestForObject{}).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.EnqueueRequestsFromMapFunc(r.owned), builder.WithPredicates(trigger.NotStatus())).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, func(ctx context.Context, change inventory.Change) []reconcile.Request {
			if len(inventory.Offloadings(ctx, r.Client, change)) == 0 {
				return nil
			}
			return []reconcile.Request{trigger.Named(change.Binding)}
		})).
		WatchesRawSource(shard.Source(r.Owner, trigger.Named)).
		WithOptions(controller.Options{RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}

// owned queues every binding that this replica works for.
func (r *Reconciler) owned(ctx context.Context, _ client.Object) []reconcile.Request {
	return trigger.Bindings(ctx, r.Client, func(cb *v1alpha1.ClusterBinding) bool { return r.Owner.Owns(cb.Name) })
}
