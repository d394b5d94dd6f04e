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
	if r.stored.Status.ObservedGeneration == r.h.Generation && slices.ContainsFunc(r.h.Status.Operations, r.waits) {
		r.phase = state.Failed
		return nil
	}
	was := slices.Clone(r.h.Status.Operations)
	earlier := r.request()
	r.report()
	if err := r.store(ctx); err != nil {
		return err
	}
	token := r.h.Status.InFlight().RequestToken
	err = r.client.Create(ctx, cloud.Marked(config, string(r.h.UID)), token)
	if err == nil {
		return nil
	}
	// This request was not carried out. So what is known of the cluster is as before: nothing, unless an
	// earlier request had no answer.
	notCarriedOut := func() { r.h.Status.Operations = was }
	if errors.Is(err, cloud.ErrCredentials) {
		notCarriedOut()
	}
	r.answered(token, "", err, notCarriedOut)
	if earlier != nil && r.h.Status.InFlight() == nil {
		// The cloud may refuse this request because it has carried out the earlier one. So the cluster may appear.
		r.h.Status.Operations = append([]v1alpha1.Operation{*earlier}, r.h.Status.Operations...)
	}
	r.report()
	return r.store(ctx)
}

// request enters the request that creates the cluster in the status, in place of one that was refused. It returns
// the earlier request whose answer is not known, if its cluster may still appear.
func (r requests) request() (earlier *v1alpha1.Operation) {
	op := r.h.Status.InFlight()
	if op == nil {
		r.h.Status.Operations = []v1alpha1.Operation{{RequestToken: uuid.NewString(), Call: state.CallCreate, StartedAt: metav1.NewTime(r.now)}}
		r.h.Status.ObservedGeneration = r.h.Generation
		r.event(corev1.EventTypeNormal, v1alpha1.ReasonCreating, "Create", "Creating the cluster in the cloud")
		return nil
	}
	again, age := *op, r.now.Sub(op.StartedAt.Time)
	if age < state.CreateShows {
		earlier = op
	}
	if age > state.CreateNoted {
		// The request is sent again, so a deletion waits from now on.
		again.StartedAt = metav1.NewTime(r.now)
	}
	r.h.Status.Operations = []v1alpha1.Operation{again}
	r.h.Status.ObservedGeneration = r.h.Generation
	return earlier
}

// waits reports whether a request was refused, and is not due yet.
func (r requests) waits(op v1alpha1.Operation) bool {
	if op.Message == "" || op.RetryAt == nil {
		return false
	}
	waits := op.RetryAt.Sub(r.now)
	return waits > 0 && waits <= state.RetryFailed
}

// deletion unbinds a cluster, and then deletes it, or lets the object go.
type deletion struct{ *binding }

// delete unbinds the cluster, and then sends the next request that deletes it.
func (d deletion) delete(ctx context.Context) error {
	done, err := d.unbind(ctx)
	// The cluster exists, so nothing waits for a request that creates it.
	d.h.Status.Operations = nil
	if err = errors.Join(err, d.store(ctx)); err != nil || !done {
		return err
	}
	err = d.client.Delete(ctx, d.seen.Reading, string(d.h.UID))
	if errors.Is(err, cloud.ErrBusy) {
		d.seen.Reading.Busy = err.Error()
		return nil
	}
	d.failure = err
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
