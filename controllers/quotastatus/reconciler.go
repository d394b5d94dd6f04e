// Package quotastatus writes how much of spec.quota is used to the status of ClusterBindings. It writes nothing else, and
// decides nothing about pods: the engine does, before it sends them.
package quotastatus

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings,verbs=get;list;watch
// +kubebuilder:rbac:groups=offloading.spillway.io,resources=clusterbindings/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Reconciler writes status.quota of the bindings that this replica works for.
type Reconciler struct {
	Client    client.Client
	Inventory *inventory.Inventory
	Owner     shard.Owner
	// Pace spaces out the writes of one binding.
	Pace *throttle.Pacer

	written ownwrites.Versions
}

// Reconcile brings status.quota of one binding up to date.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	binding := &v1alpha1.ClusterBinding{}
	exists, err := consumer.Exists(ctx, r.Client, req.NamespacedName, binding)
	if !exists || err != nil {
		r.Pace.Forget(req.Name)
		r.written.Forget(req.NamespacedName)
		return ctrl.Result{}, err
	}
	if !r.Owner.Owns(binding.Name) || len(binding.Spec.Quota) == 0 && len(binding.Status.Quota) == 0 {
		return ctrl.Result{}, nil
	}
	if r.written.IsStale(binding) {
		return ctrl.Result{RequeueAfter: ownwrites.StaleRetry}, nil
	}
	wanted, err := r.count(ctx, binding)
	switch {
	case errors.Is(err, inventory.ErrUnknown):
		return ctrl.Result{}, nil // The inventory enqueues the binding once it is known.
	case err != nil:
		return ctrl.Result{}, err
	case quota.Same(binding.Status.Quota, wanted):
		return ctrl.Result{}, nil
	}
	if wait := r.Pace.Wait(binding.Name); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	after := binding.DeepCopy()
	after.Status.Quota = wanted
	if err := r.Client.Status().Patch(ctx, after, precondition.Locked(binding)); err != nil {
		return retry.Done(fmt.Errorf("writing status.quota of ClusterBinding %s: %w", binding.Name, err))
	}
	r.Pace.Wrote(binding.Name)
	r.written.Expect(after)
	return ctrl.Result{}, nil
}

// count returns what the status should say.
func (r *Reconciler) count(ctx context.Context, binding *v1alpha1.ClusterBinding) ([]v1alpha1.QuotaStatus, error) {
	if len(binding.Spec.Quota) == 0 {
		return nil, nil
	}
	pods, err := r.Inventory.Pods(ctx, binding.Name, "")
	if err != nil {
		return nil, err
	}
	all := quota.PodsOf(pods, nil)
	labels := map[string]map[string]string{}
	for i := range all {
		name := all[i].Namespace
		if _, known := labels[name]; known {
			continue
		}
		if labels[name], err = consumer.NamespaceLabels(ctx, r.Client, name); err != nil {
			return nil, err
		}
	}
	return quota.Status(binding, all, func(namespace string) (map[string]string, bool) { return labels[namespace], true }), nil
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	limited := func(cb *v1alpha1.ClusterBinding) bool { return len(cb.Spec.Quota) > 0 }
	ofPod := func(ctx context.Context, binding string) []reconcile.Request {
		found := &v1alpha1.ClusterBinding{}
		if err := r.Client.Get(ctx, client.ObjectKey{Name: binding}, found, client.UnsafeDisableDeepCopy); err != nil || !limited(found) {
			return nil
		}
		return []reconcile.Request{trigger.Named(binding)}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("quotastatus").
		For(&v1alpha1.ClusterBinding{}, builder.WithPredicates(predicate.Or(trigger.NotStatus(), trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool {
			return !quota.Same(before.Status.Quota, after.Status.Quota)
		})))).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
			return trigger.Bindings(ctx, r.Client, limited)
		}), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, func(ctx context.Context, change inventory.Change) []reconcile.Request {
			if change.Copies {
				return nil
			}
			return ofPod(ctx, change.Binding)
		})).
		WatchesRawSource(inventory.ProblemSource(r.Inventory, func(ctx context.Context, binding string, _ *corev1.Pod) []reconcile.Request {
			return ofPod(ctx, binding)
		})).
		WatchesRawSource(shard.Source(r.Owner, trigger.Named)).
		WithOptions(controller.Options{RateLimiter: retry.Backoff[reconcile.Request]()}).
		Complete(r)
}
