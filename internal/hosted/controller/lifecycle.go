package controller

import (
	"context"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
func (v *visit) bind(ctx context.Context) error {
	there := v.client != nil && !v.seen.Missing && v.failure == nil && v.seen.Reading.Complete
	if v.Binder == nil || !there || v.phase == state.Creating || v.phase == state.Replaced || v.phase == state.Deleting {
		return nil
	}
	condition, again, err := v.Binder.Bind(ctx, v.h, v.client)
	if err != nil {
		return err
	}
	v.again = again
	if condition == nil {
		meta.RemoveStatusCondition(&v.h.Status.Conditions, v1alpha1.HostedBound)
		return nil
	}
	v.set(condition.Type, condition.Status, condition.Reason, condition.Message)
	return nil
}

// unbind lets the Binder take back what it has made, while the cluster can be reached, if it
// still can. What is only forgotten was not read before: whether it is there is asked here.
func (v *visit) unbind(ctx context.Context, gone bool) (done bool, err error) {
	bound := v.h.Spec.Binding != nil || meta.FindStatusCondition(v.h.Status.Conditions, v1alpha1.HostedBound) != nil
	if v.Binder == nil || !bound {
		return true, nil
	}
	if v.client == nil {
		gone = v.observe(ctx) == nil && v.seen.Missing
	}
	return v.Binder.Unbind(ctx, v.h, v.client, gone)
}
