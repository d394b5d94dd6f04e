package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/state"
)

// binding lets the Binder make the cluster a provider, renew its token, or take it back.
type binding struct {
	*visit
	binder Binder
	step   state.Step
	// again is when to call the Binder again; zero if at any time.
	again time.Duration
}

// bind lets the Binder do its part. A token lasts an hour, and pods depend on it. So it is renewed whatever
// else fails, also while the cluster cannot be read, and while it is paused. failed says that something else in
// this reconcile has failed.
func (b *binding) bind(ctx context.Context, failed bool) error {
	switch {
	case b.binder == nil || b.phase == state.Creating || b.phase == state.AlreadyExists || b.step == state.Delete:
		return nil
	case b.phase == state.Deleting || b.phase == state.NotMarked:
		_, err := b.unbind(ctx)
		return err
	case b.seen.Missing || b.phase == state.Replaced:
		b.lost()
		return nil
	case b.phase == state.Duplicate && b.missing(v1alpha1.HostedBound):
		return nil
	case failed || b.phase == state.Duplicate || !b.seen.Reading.Complete:
		return b.keep(ctx)
	}
	condition, again, err := b.binder.Bind(ctx, b.h, cloud.SourceOf(b.client, nil))
	if err != nil {
		return b.notBound(err)
	}
	b.again = again
	b.bound(condition)
	return nil
}

// keep renews the token of the ClusterBinding, and does nothing else.
func (b *binding) keep(ctx context.Context) error {
	if b.h.Spec.Binding == nil && b.missing(v1alpha1.HostedBound) {
		return nil
	}
	why := b.failure
	if b.client == nil && why == nil {
		why = b.connect(ctx)
	}
	condition, again, err := b.binder.Keep(ctx, b.h, cloud.SourceOf(b.client, why))
	if err != nil {
		return b.notBound(err)
	}
	b.again = again
	b.bound(condition)
	return nil
}

// unbind lets the Binder delete what it has created. On Release the cluster was not read yet, so unbind reads
// it to learn whether it still exists.
func (b *binding) unbind(ctx context.Context) (done bool, err error) {
	if b.binder == nil {
		return true, nil
	}
	if b.step == state.Release && b.client == nil {
		b.failure = b.observe(ctx)
	}
	gone := b.failure == nil && b.client != nil && b.seen.Gone()
	condition, done, err := b.binder.Unbind(ctx, b.h, cloud.SourceOf(b.client, b.failure), gone)
	if err != nil {
		return false, b.notBound(err)
	}
	b.bound(condition)
	return done, nil
}

// lost reports that the token of a missing cluster cannot be renewed.
func (b *binding) lost() {
	if b.missing(v1alpha1.HostedBound) {
		return
	}
	reason := v1alpha1.ReasonNotFound
	if b.phase == state.Replaced {
		reason = v1alpha1.ReasonReplaced
	}
	b.set(v1alpha1.HostedBound, metav1.ConditionFalse, reason, "The ClusterBinding's token is not renewed: see the condition Synced")
}

// notBound reports what the consumer's API server refuses, because retrying will not help.
func (b *binding) notBound(err error) error {
	err = fmt.Errorf("binding: %w", err)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		b.set(v1alpha1.HostedBound, metav1.ConditionFalse, v1alpha1.ReasonRequestFailed, err.Error())
	}
	return err
}

func (b *binding) bound(condition *metav1.Condition) {
	if condition == nil {
		meta.RemoveStatusCondition(&b.h.Status.Conditions, v1alpha1.HostedBound)
		return
	}
	b.set(condition.Type, condition.Status, condition.Reason, condition.Message)
}
