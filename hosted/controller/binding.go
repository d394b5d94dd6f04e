package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/state"
)

// bind lets the Binder do its part. A token lasts an hour, and pods depend on it. So it is renewed whatever
// else fails, also while the cluster cannot be read, and while it is paused. failed says that something else in
// this reconcile has failed.
func (v *visit) bind(ctx context.Context, failed bool) error {
	switch {
	case v.Binder == nil || v.phase == state.Creating || v.phase == state.AlreadyExists || v.step == state.Delete:
		return nil
	case v.phase == state.Deleting || v.phase == state.NotMarked:
		_, err := v.unbind(ctx)
		return err
	case v.seen.Missing || v.phase == state.Replaced:
		v.lost()
		return nil
	case v.phase == state.Duplicate && v.missing(v1alpha1.HostedBound):
		return nil
	case failed || v.phase == state.Duplicate || !v.seen.Reading.Complete:
		return v.keep(ctx)
	}
	condition, again, err := v.Binder.Bind(ctx, v.h, cloud.SourceOf(v.client, nil))
	if err != nil {
		return v.notBound(err)
	}
	v.again = again
	v.bound(condition)
	return nil
}

// keep renews the token of the ClusterBinding, and does nothing else.
func (v *visit) keep(ctx context.Context) error {
	if v.h.Spec.Binding == nil && v.missing(v1alpha1.HostedBound) {
		return nil
	}
	why := v.failure
	if v.client == nil && why == nil {
		why = v.connect(ctx)
	}
	condition, again, err := v.Binder.Keep(ctx, v.h, cloud.SourceOf(v.client, why))
	if err != nil {
		return v.notBound(err)
	}
	v.again = again
	v.bound(condition)
	return nil
}

// unbind lets the Binder delete what it has created. On Release the cluster was not read yet, so unbind reads
// it to learn whether it still exists.
func (v *visit) unbind(ctx context.Context) (done bool, err error) {
	if v.Binder == nil {
		return true, nil
	}
	if v.step == state.Release && v.client == nil {
		v.failure = v.observe(ctx)
	}
	gone := v.failure == nil && v.client != nil && v.seen.Gone()
	condition, done, err := v.Binder.Unbind(ctx, v.h, cloud.SourceOf(v.client, v.failure), gone)
	if err != nil {
		return false, v.notBound(err)
	}
	v.bound(condition)
	return done, nil
}

// lost reports that the token of a missing cluster cannot be renewed.
func (v *visit) lost() {
	if v.missing(v1alpha1.HostedBound) {
		return
	}
	reason := v1alpha1.ReasonNotFound
	if v.phase == state.Replaced {
		reason = v1alpha1.ReasonReplaced
	}
	v.set(v1alpha1.HostedBound, metav1.ConditionFalse, reason, "The ClusterBinding's token is not renewed: see the condition Synced")
}

// notBound reports what the consumer's API server refuses, because retrying will not help.
func (v *visit) notBound(err error) error {
	err = fmt.Errorf("binding: %w", err)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		v.set(v1alpha1.HostedBound, metav1.ConditionFalse, v1alpha1.ReasonRequestFailed, err.Error())
	}
	return err
}

func (v *visit) bound(condition *metav1.Condition) {
	if condition == nil {
		meta.RemoveStatusCondition(&v.h.Status.Conditions, v1alpha1.HostedBound)
		return
	}
	v.set(condition.Type, condition.Status, condition.Reason, condition.Message)
}
