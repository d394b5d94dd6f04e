package clusterbinding

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/clusterbinding"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// drain takes the next step of an ordered deletion: it reports the step, then takes it.
func (r *Reconciler) drain(ctx context.Context, o *observed) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(o.Binding, v1alpha1.FinalizerBinding) || o.unknown {
		return ctrl.Result{}, nil // Enqueued again once it is known what is left.
	}
	s := o.drain
	s.Connected, s.Unreachable, s.Now = o.Connection.Phase == fleet.Connected, r.unreachable(o), r.Clock.Now()
	s.Limited = o.Connection.Limited
	s.LeaseGone = o.Connection.Phase == fleet.Left
	if o.Credentials != nil || o.Connection.Phase == fleet.Disconnected {
		s.LeaseStays = r.unreachable(o)
	}
	plan := drain.Decide(s)
	again := plan.RetryAfter
	if wait := r.progress(o, plan); wait > 0 {
		again = retry.Sooner(again, wait)
	} else if plan.Action != drain.RemoveFinalizer {
		status := clusterbinding.Decide(o.Snapshot)
		conditions.Set(&status.Conditions, o.Binding.Generation, plan.Drained)
		if err := r.report(ctx, o, status); err != nil {
			return retry.Done(err)
		}
	}
	if err := r.act(ctx, o, plan); err != nil {
		return retry.Done(err)
	}
	if plan.Action == drain.Release {
		again = retry.Sooner(again, released) // No watch is certain to enqueue it again.
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// progress is how long a report waits that is about the same step: each pod that leaves
// would write another number.
func (r *Reconciler) progress(o *observed, plan drain.Plan) time.Duration {
	if conditions.Reason(o.Binding.Status.Conditions, v1alpha1.BindingDrained) != plan.Drained.Reason {
		r.Pace.Wrote(o.Binding.Name)
		return 0
	}
	said := meta.FindStatusCondition(o.Binding.Status.Conditions, v1alpha1.BindingDrained)
	if said.Message == plan.Drained.Message {
		return 0
	}
	wait := r.Pace.Wait(o.Binding.Name)
	if wait == 0 {
		r.Pace.Wrote(o.Binding.Name)
	}
	return wait
}

// unreachable says why the provider cannot be reached.
func (r *Reconciler) unreachable(o *observed) string {
	switch {
	case o.Credentials != nil:
		return o.Credentials.Message
	case o.Connection.Message != "":
		return o.Connection.Message
	default:
		return "it is not connected yet"
	}
}

func (r *Reconciler) act(ctx context.Context, o *observed, plan drain.Plan) error {
	if plan.LeftBehind != "" {
		r.Events.Eventf(o.Binding, nil, corev1.EventTypeWarning, "LeftBehind", "Drain", "%s", conditions.Note(plan.LeftBehind))
	}
	switch plan.Action {
	case drain.Wait:
		return nil
	case drain.Cordon:
		before := o.Node.DeepCopy()
		o.Node.Spec.Unschedulable = true
		if err := r.Client.Patch(ctx, o.Node, precondition.Locked(before)); err != nil {
			return fmt.Errorf("cordoning Node %s: %w", o.Node.Name, err)
		}
		return nil
	case drain.DeleteNamespaceMap:
		// The resourceVersion too: the map must not have got a new entry since.
		version := o.NamespaceMap.ResourceVersion
		exactly := precondition.Exactly(o.NamespaceMap)
		exactly.ResourceVersion = &version
		if err := r.Client.Delete(ctx, o.NamespaceMap, exactly); retry.IgnoreGone(err) != nil {
			return fmt.Errorf("deleting NamespaceMap %s: %w", o.NamespaceMap.Name, err)
		}
		return nil
	case drain.Release:
		return r.release(ctx, o)
	case drain.DeleteNode:
		return r.deleteNode(ctx, o)
	case drain.RemoveFinalizer:
		return r.removeFinalizer(ctx, o)
	default:
		return fmt.Errorf("unknown action %q", plan.Action)
	}
}

// deleteNode ends the connection first, and with it the renewal of the lease.
func (r *Reconciler) deleteNode(ctx context.Context, o *observed) error {
	r.Fleet.Disconnect(o.Binding.Name)
	lease := &coordinationv1.Lease{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: o.Node.Name}, lease)
	if err == nil {
		err = r.Client.Delete(ctx, lease, precondition.Exactly(lease))
	}
	if retry.IgnoreGone(err) != nil {
		return fmt.Errorf("deleting the lease of Node %s: %w", o.Node.Name, err)
	}
	if err := r.Client.Delete(ctx, o.Node, precondition.Exactly(o.Node)); retry.IgnoreGone(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", o.Node.Name, err)
	}
	return nil
}

func (r *Reconciler) removeFinalizer(ctx context.Context, o *observed) error {
	r.Fleet.Disconnect(o.Binding.Name)
	before := o.Binding.DeepCopy()
	controllerutil.RemoveFinalizer(o.Binding, v1alpha1.FinalizerBinding)
	if err := r.Client.Patch(ctx, o.Binding, precondition.Locked(before)); err != nil {
		return fmt.Errorf("removing the finalizer of ClusterBinding %s: %w", o.Binding.Name, err)
	}
	r.written.Wrote(o.Binding)
	return nil
}
