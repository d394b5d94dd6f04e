package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/state"
)

// create requests the cluster. It repeats the request, after a crash with the same token, until the cluster can
// be read.
func (v *visit) create(ctx context.Context) error {
	config, err := ledger.Tree(v.h.Spec.ClusterConfig)
	if err != nil {
		return v.invalid(err)
	}
	config = cloud.Marked(config, string(v.h.UID))
	op := v.h.Status.Operation
	if op != nil && op.Message != "" && v.stored.Status.ObservedGeneration == v.h.Generation {
		if waited := v.now.Sub(op.StartedAt.Time); waited >= 0 && waited < state.RetryFailed {
			v.phase = state.Failed
			return nil
		}
	}
	switch {
	case op == nil || op.Message != "":
		v.h.Status.Operation = &v1alpha1.Operation{RequestToken: uuid.NewString(), Call: state.CallCreate, StartedAt: metav1.NewTime(v.now)}
		v.h.Status.ObservedGeneration = v.h.Generation
		v.event(corev1.EventTypeNormal, v1alpha1.ReasonCreating, "Create", "Creating the cluster in the cloud")
	case v.now.Sub(op.StartedAt.Time) > state.CreateNoted:
		// The request is sent again, so a deletion waits from now on.
		op.StartedAt = metav1.NewTime(v.now)
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

// delete unbinds the cluster, and then sends the next request that deletes it.
func (v *visit) delete(ctx context.Context) error {
	done, err := v.unbind(ctx)
	// The cluster exists, so nothing waits for a request that creates it.
	v.h.Status.Operation = nil
	v.report()
	if err = errors.Join(err, v.store(ctx)); err != nil || !done {
		return err
	}
	if err := v.client.Delete(ctx, v.seen.Reading, string(v.h.UID)); !errors.Is(err, cloud.ErrBusy) {
		v.failure = err
	}
	return nil
}

// mark describes the tag of a cluster that was created for this object.
func (v *visit) mark() string {
	if v.h.Spec.GKEConfig != nil {
		return fmt.Sprintf("the label %s: %s", cloud.Mark, v.h.UID)
	}
	return fmt.Sprintf("the tag %s: %s", cloud.Mark, v.h.UID)
}

// unanswered says what a deletion waits for, if the cluster may still appear.
func (v *visit) unanswered() string {
	if !v.seen.Unanswered() {
		return ""
	}
	until := v.h.Status.Operation.StartedAt.Add(state.CreateShows).UTC().Format(time.RFC3339)
	return "The cluster was requested, but the cloud does not list it yet. If it does by " + until + ", it is deleted, and then this object"
}

// twin notes whether another object has the cluster, as far as is known.
func (v *visit) twin(all []v1alpha1.HostedCluster) {
	if other := state.Twin(v.h, v.seen.Reading.UID, all); other != nil {
		v.seen.Twin = other.Name
	}
}
