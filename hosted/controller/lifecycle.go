package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/state"
	"github.com/spillway-io/spillway/internal/retry"
)

// create requests the cluster. It repeats the request, after a crash with the same token, until the cluster can
// be read.
func (r requests) create(ctx context.Context) error {
	config, err := ledger.Tree(r.h.Spec.ClusterConfig)
	if err != nil {
		return r.invalid(err)
	}
	config = cloud.Marked(config, string(r.h.UID))
	var op *v1alpha1.Operation
	if len(r.h.Status.Operations) > 0 {
		op = &r.h.Status.Operations[0] // There is no other one before the cluster exists.
	}
	if op != nil && op.Message != "" && r.stored.Status.ObservedGeneration == r.h.Generation {
		if waits := op.RetryAt.Sub(r.now); waits > 0 && waits <= state.RetryFailed {
			r.phase = state.Failed
			return nil
		}
	}
	was := slices.Clone(r.h.Status.Operations)
	switch {
	case op == nil || op.Message != "":
		r.h.Status.Operations = []v1alpha1.Operation{{RequestToken: uuid.NewString(), Call: state.CallCreate, StartedAt: metav1.NewTime(r.now)}}
		r.h.Status.ObservedGeneration = r.h.Generation
		r.event(corev1.EventTypeNormal, v1alpha1.ReasonCreating, "Create", "Creating the cluster in the cloud")
	case r.now.Sub(op.StartedAt.Time) > state.CreateNoted:
		// The request is sent again, so a deletion waits from now on.
		op.StartedAt = metav1.NewTime(r.now)
	}
	r.report()
	if err := r.store(ctx); err != nil {
		return err
	}
	err = r.client.Create(ctx, config, r.h.Status.InFlight().RequestToken)
	if err == nil {
		return nil
	}
	// This request was not carried out. So what is known of the cluster is as before: nothing, unless an
	// earlier request had no answer.
	notCarriedOut := func() { r.h.Status.Operations = was }
	if errors.Is(err, cloud.ErrCredentials) {
		notCarriedOut()
	}
	return r.sent(ctx, "", err, notCarriedOut)
}

// deletion unbinds a cluster, and then deletes it, or lets the object go.
type deletion struct{ *binding }

// delete unbinds the cluster, and then sends the next request that deletes it.
func (d deletion) delete(ctx context.Context) error {
	done, err := d.unbind(ctx)
	// The cluster exists, so nothing waits for a request that creates it.
	d.h.Status.Operations = nil
	d.report()
	if err = errors.Join(err, d.store(ctx)); err != nil || !done {
		return err
	}
	if err := d.client.Delete(ctx, d.seen.Reading, string(d.h.UID)); !errors.Is(err, cloud.ErrBusy) {
		d.failure = err
	}
	return nil
}

// release lets the object go. The cluster is orphaned or gone.
func (d deletion) release(ctx context.Context) (ctrl.Result, error) {
	done, err := d.unbind(ctx)
	if !done {
		d.set(v1alpha1.HostedReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, "The ClusterBinding is being deleted: see the condition Bound")
		if err = errors.Join(err, d.store(ctx)); err != nil {
			return retry.Done(err)
		}
		return ctrl.Result{RequeueAfter: state.Delay(state.Deleting, d.now.Sub(d.h.DeletionTimestamp.Time), 0, 0)}, nil
	}
	d.clouds.Forget(d.h.UID)
	d.operations.forget(d.h.UID)
	return retry.Done(d.letGo(ctx))
}

// mark describes the tag of a cluster that was created for this object.
func mark(h *v1alpha1.HostedCluster) string {
	if h.Spec.GKEConfig != nil {
		return fmt.Sprintf("the label %s: %s", cloud.Mark, h.UID)
	}
	return fmt.Sprintf("the tag %s: %s", cloud.Mark, h.UID)
}
