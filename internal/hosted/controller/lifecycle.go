package controller

import (
	"context"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/ledger"
	"github.com/spillway-io/spillway/internal/hosted/state"
)

// create asks for the cluster: after a crash with the same token, until it can be read.
func (v *visit) create(ctx context.Context) error {
	config, err := ledger.Tree(v.h.Spec.ClusterConfig)
	if err != nil {
		return v.invalid(err)
	}
	op := v.h.Status.Operation
	if op != nil && op.Message != "" && v.stored.Status.ObservedGeneration == v.h.Generation {
		if waited := v.now.Sub(op.StartedAt.Time); waited >= 0 && waited < state.RetryFailed {
			v.phase = state.Failed
			return nil
		}
	}
	if op == nil || op.Message != "" {
		v.h.Status.Operation = &v1alpha1.Operation{RequestToken: uuid.NewString(), Call: state.CallCreate, StartedAt: metav1.NewTime(v.now)}
		v.h.Status.ObservedGeneration = v.h.Generation
		v.event(corev1.EventTypeNormal, v1alpha1.ReasonCreating, "Create", "The cluster is created in the cloud")
	}
	v.report()
	if err := v.store(ctx); err != nil {
		return err
	}
	err = v.client.Create(ctx, config, v.h.Status.Operation.RequestToken)
	if err == nil {
		return nil
	}
	return v.sent(ctx, "", err, func() {})
}

// bind lets the Binder do its part, if the cluster is there and runs.
func (v *visit) bind(ctx context.Context) {
	there := v.client != nil && !v.seen.Missing && v.failure == nil && v.seen.Reading.Complete
	if v.Binder == nil || !there || v.phase == state.Creating || v.phase == state.Replaced || v.phase == state.Deleting {
		return
	}
	condition, again, err := v.Binder.Reconcile(ctx, v.h, v.client, v.seen.Reading)
	if err != nil {
		v.failure = err
		return
	}
	v.again = again
	if condition == nil {
		v.drop(v1alpha1.HostedBound)
		return
	}
	v.set(condition.Type, condition.Status, condition.Reason, condition.Message)
}
