package virtualnode

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/trigger"
)

// report writes the conditions Grouped and Elastic, if they differ, and an event if the nodes are not what the binding
// asks for. g is nil for a binding that has never had groups. wait is how long new numbers wait to be told.
func (r *Reconciler) report(ctx context.Context, binding *v1alpha1.ClusterBinding, g *Grouping, offer Offer) (wait time.Duration, err error) {
	if offer.Unknown || !binding.DeletionTimestamp.IsZero() || g == nil && !isElastic(binding) {
		return 0, nil
	}
	after := binding.DeepCopy()
	if g != nil {
		setOn(after, v1alpha1.BindingGrouped, groupedCondition(binding, *g))
	}
	if isElastic(binding) {
		wait = setElastic(ctx, r, binding, after, offer)
	}
	if equality.Semantic.DeepEqual(binding.Status.Conditions, after.Status.Conditions) {
		return wait, nil
	}
	if err := r.Client.Status().Patch(ctx, after, precondition.Locked(binding)); err != nil {
		return wait, fmt.Errorf("writing the conditions of ClusterBinding %s: %w", binding.Name, err)
	}
	for _, kind := range []string{v1alpha1.BindingGrouped, v1alpha1.BindingElastic} {
		if c := news(binding, after, kind); c != nil {
			r.Events.Eventf(after, nil, corev1.EventTypeWarning, c.Reason, "Group", "%s", conditions.Note(c.Message))
		}
	}
	return wait, nil
}

// setElastic sets the condition Elastic, or returns how long that waits.
func setElastic(ctx context.Context, r *Reconciler, binding, after *v1alpha1.ClusterBinding, offer Offer) (wait time.Duration) {
	pods, err := r.Inventory.Pods(ctx, binding.Name, "")
	if err != nil {
		return 0 // They are known soon.
	}
	grown := elasticCondition(binding, offer, waitingIn(pods))
	if changes(binding, grown) {
		if wait = r.Told.Wait(binding.Name); wait > 0 {
			return wait
		}
		r.Told.Wrote(binding.Name)
	}
	setOn(after, v1alpha1.BindingElastic, grown)
	return 0
}

// ofProblem returns the binding of a pod whose provider has begun or ceased to lack a node for it, if the provider grows.
func ofProblem(of client.Reader) func(ctx context.Context, name string, _ *corev1.Pod) []reconcile.Request {
	return func(ctx context.Context, name string, _ *corev1.Pod) []reconcile.Request {
		binding := &v1alpha1.ClusterBinding{}
		if err := of.Get(ctx, client.ObjectKey{Name: name}, binding, client.UnsafeDisableDeepCopy); err != nil || !isElastic(binding) {
			return nil
		}
		return []reconcile.Request{trigger.Named(name)}
	}
}
