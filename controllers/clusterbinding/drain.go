package clusterbinding

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/retry"
)

// deletion is the ordered deletion of a binding, in one reconcile.
type deletion struct {
	*Reconciler
	*observed
}

// step reports the next step of the deletion, and then takes it.
func (d *deletion) step(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(d.Binding, v1alpha1.FinalizerBinding) || d.unknown {
		return ctrl.Result{}, nil // Enqueued again once it is known what is left.
	}
	s := d.drain
	s.Connected, s.Unreachable, s.Now = d.Connection.Phase == fleet.Connected, d.unreachable(), d.Clock.Now()
	s.Limited = d.Connection.Limited
	s.LeaseDeleted = d.Connection.Phase == fleet.Left
	if d.Credentials != nil || d.Connection.Phase == fleet.Disconnected {
		s.LeaseGivenUp = s.Unreachable
	}
	plan := drain.Decide(s)
	again := plan.RetryAfter
	if wait := d.progress(plan); wait > 0 {
		again = retry.Sooner(again, wait)
	} else if plan.Action != drain.RemoveFinalizer {
		status := Decide(d.snapshot)
		conditions.Set(&status.Conditions, d.Binding.Generation, plan.Drained)
		if err := d.report(ctx, d.observed, status); err != nil {
			return retry.Done(err)
		}
	}
	if err := d.act(ctx, plan); err != nil {
		return retry.Done(err)
	}
	if plan.Action == drain.Release {
		again = retry.Sooner(again, released) // No watch is certain to enqueue it again.
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// progress returns how long a report about the same step waits: each pod that leaves would write another
// number.
func (d *deletion) progress(plan drain.Plan) time.Duration {
	said := meta.FindStatusCondition(d.Binding.Status.Conditions, v1alpha1.BindingDrained)
	if said != nil && said.Reason == plan.Drained.Reason {
		if said.Message == plan.Drained.Message {
			return 0
		}
		if wait := d.Pace.Wait(d.Binding.Name); wait > 0 {
			return wait
		}
	}
	d.Pace.Wrote(d.Binding.Name)
	return 0
}

// unreachable says why the provider cannot be reached.
func (o *observed) unreachable() string {
	if o.Credentials != nil {
		return o.Credentials.Message
	}
	return cmp.Or(o.Connection.Message, "it is not connected yet")
}

func (d *deletion) act(ctx context.Context, plan drain.Plan) error {
	if plan.LeftBehind != "" {
		d.Events.Eventf(d.Binding, nil, corev1.EventTypeWarning, "LeftBehind", "Drain", "%s", conditions.Note(plan.LeftBehind))
	}
	switch plan.Action {
	case drain.Wait:
		return nil
	case drain.Cordon:
		return d.cordon(ctx)
	case drain.DeleteNamespaceMap:
		// The resourceVersion too: the map must not have got a new entry since.
		version := d.NamespaceMap.ResourceVersion
		exactly := precondition.Exactly(d.NamespaceMap)
		exactly.ResourceVersion = &version
		if err := d.Client.Delete(ctx, d.NamespaceMap, exactly); retry.IgnoreGone(err) != nil {
			return fmt.Errorf("deleting NamespaceMap %s: %w", d.NamespaceMap.Name, err)
		}
		return nil
	case drain.Release:
		return d.release(ctx)
	case drain.DeleteNode:
		return d.deleteNode(ctx)
	case drain.RemoveFinalizer:
		return d.removeFinalizer(ctx)
	default:
		return fmt.Errorf("unknown action %q", plan.Action)
	}
}

// cordon cordons all virtual nodes. Otherwise pods that are evicted from the first would come back on another one.
func (d *deletion) cordon(ctx context.Context) error {
	var failed []error
	all := d.Virtual
	if len(all) == 0 {
		all = append(all, d.Node) // Somebody has removed its label.
	}
	for _, shared := range all {
		if shared.Spec.Unschedulable {
			continue
		}
		node := shared.DeepCopy()
		node.Spec.Unschedulable = true
		if err := d.Client.Patch(ctx, node, precondition.Locked(shared)); err != nil {
			failed = append(failed, fmt.Errorf("cordoning Node %s: %w", node.Name, err))
		}
	}
	return errors.Join(failed...)
}

// deleteNode ends the connection first, and with it the renewal of the lease.
func (d *deletion) deleteNode(ctx context.Context) error {
	d.Fleet.Disconnect(d.Binding.Name)
	lease := &coordinationv1.Lease{}
	err := d.Live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: d.Node.Name}, lease)
	if err == nil {
		err = d.Client.Delete(ctx, lease, precondition.Exactly(lease))
	}
	if retry.IgnoreGone(err) != nil {
		return fmt.Errorf("deleting the lease of Node %s: %w", d.Node.Name, err)
	}
	if err := d.Client.Delete(ctx, d.Node, precondition.Exactly(d.Node)); retry.IgnoreGone(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", d.Node.Name, err)
	}
	return nil
}

func (d *deletion) removeFinalizer(ctx context.Context) error {
	d.Fleet.Disconnect(d.Binding.Name)
	before := d.Binding.DeepCopy()
	controllerutil.RemoveFinalizer(d.Binding, v1alpha1.FinalizerBinding)
	if err := d.Client.Patch(ctx, d.Binding, precondition.Locked(before)); err != nil {
		return fmt.Errorf("removing the finalizer of ClusterBinding %s: %w", d.Binding.Name, err)
	}
	d.written.Expect(d.Binding)
	return nil
}
