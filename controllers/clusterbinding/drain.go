package clusterbinding

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/binding"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/drain"
	"github.com/spillway-io/spillway/internal/fleet"
	"github.com/spillway-io/spillway/internal/step"
)

// drain takes the next step of an ordered deletion: it says which, then does it.
func (r *Reconciler) drain(ctx context.Context, o *observed) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(o.Binding, v1alpha1.FinalizerBinding) {
		return ctrl.Result{}, nil
	}
	plan := drain.Decide(drain.Snapshot{
		Binding:      o.Binding,
		Duplicate:    o.Duplicate(),
		NodeExists:   o.OwnsNode(),
		NodeCordoned: o.OwnsNode() && o.Node.Spec.Unschedulable,
		NamespaceMap: o.NamespaceMap,
		Connected:    o.Connection.Phase == fleet.Connected,
		Unreachable:  r.unreachable(o),
		Now:          r.Clock.Now(),
	})
	if plan.Action != drain.RemoveFinalizer {
		status := binding.Decide(o.Snapshot)
		conditions.Set(&status.Conditions, o.Binding.Generation, plan.Drained)
		if err := r.report(ctx, o, status); err != nil {
			return step.Done(err)
		}
	}
	if err := r.act(ctx, o, plan); err != nil {
		return step.Done(err)
	}
	return ctrl.Result{RequeueAfter: plan.RetryAfter}, nil
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
	if len(plan.LeftBehind) > 0 {
		r.Events.Eventf(o.Binding, nil, corev1.EventTypeWarning, "LeftBehind", "Drain",
			"remote namespaces that stay in provider %s: %s", o.Binding.Spec.ClusterID, shortened(plan.LeftBehind))
	}
	switch plan.Action {
	case drain.Wait:
		return nil
	case drain.Cordon:
		before := o.Node.DeepCopy()
		o.Node.Spec.Unschedulable = true
		if err := r.Client.Patch(ctx, o.Node, step.Locked(before)); err != nil {
			return fmt.Errorf("cordoning Node %s: %w", o.Node.Name, err)
		}
		return nil
	case drain.DeleteNamespaceMap:
		// The resourceVersion too: the map must not have got an entry since.
		version := o.NamespaceMap.ResourceVersion
		exactly := step.Exactly(o.NamespaceMap)
		exactly.ResourceVersion = &version
		if err := r.Client.Delete(ctx, o.NamespaceMap, exactly); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting NamespaceMap %s: %w", o.NamespaceMap.Name, err)
		}
		return nil
	case drain.DeleteNode:
		return r.deleteNode(ctx, o)
	case drain.RemoveFinalizer:
		return r.removeFinalizer(ctx, o)
	default:
		return fmt.Errorf("unknown action %q", plan.Action)
	}
}

// deleteNode ends the connection first: what renews the lease ends with it.
func (r *Reconciler) deleteNode(ctx context.Context, o *observed) error {
	r.Fleet.Disconnect(o.Binding.Name)
	lease := &coordinationv1.Lease{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: o.Node.Name}, lease)
	if err == nil {
		err = r.Client.Delete(ctx, lease, step.Exactly(lease))
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the lease of Node %s: %w", o.Node.Name, err)
	}
	if err := r.Client.Delete(ctx, o.Node, step.Exactly(o.Node)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting Node %s: %w", o.Node.Name, err)
	}
	return nil
}

func (r *Reconciler) removeFinalizer(ctx context.Context, o *observed) error {
	r.Fleet.Disconnect(o.Binding.Name)
	before := o.Binding.DeepCopy()
	controllerutil.RemoveFinalizer(o.Binding, v1alpha1.FinalizerBinding)
	err := r.Client.Patch(ctx, o.Binding, step.Locked(before))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the finalizer of ClusterBinding %s: %w", o.Binding.Name, err)
	}
	return nil
}

func shortened(names []string) string {
	const most = 20
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
