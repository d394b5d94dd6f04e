package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/state"
)

// sync merges, stores the decisions, and sends the first request of the plan.
func (v *visit) sync(ctx context.Context) error {
	plan, err := v.merge()
	if err != nil {
		return v.invalid(err)
	}
	if write := v.next(plan); write != nil && v.guard(write.Call) == merge.ByOperations {
		if plan, err = v.lookAgain(ctx, *write); err != nil || !plan.Decided {
			v.failure = err
			return nil
		}
	}
	if done, err := v.manageAll(ctx, plan); done || err != nil {
		return err
	}
	lost, err := v.overwritten(ctx, plan)
	if err != nil {
		v.failure = err
		return nil
	}
	if err := v.enter(plan, lost); err != nil {
		return v.invalid(err)
	}
	if write := v.next(plan); write != nil {
		ledger.Begin(v.h, *write, uuid.NewString(), v.now)
		v.phase = state.Writing
		v.report()
		if err := v.store(ctx); err != nil {
			return err
		}
		return v.send(ctx, *write)
	}
	v.report()
	if err := v.store(ctx); err != nil {
		return err
	}
	return v.writeBack(ctx, plan)
}

func (v *visit) merge() (merge.Plan, error) {
	in, err := ledger.Input(v.h, v.table, v.seen.Reading, v.now)
	if err != nil {
		return merge.Plan{}, err
	}
	if op := v.h.Status.Operation; op != nil && op.Call == state.CallCreate {
		// The cluster was created from the spec, as far as one request can express that. What is missing is sent;
		// nobody else has set it.
		in.Published = v.seen.Reading.Config
	}
	return merge.Merge(in), nil
}

// enter notes the plan in the status. It removes the operation, whose result was read, unless the operation
// failed and must not be repeated yet.
func (v *visit) enter(plan merge.Plan, lost []v1alpha1.Decision) error {
	if op := v.h.Status.Operation; op != nil && !v.held(plan) {
		v.h.Status.Operation = nil
	}
	plan.Decisions = slices.DeleteFunc(plan.Decisions, v.noted)
	if err := ledger.Enter(v.h, plan, v.seen.Reading); err != nil {
		return err
	}
	ledger.Note(v.h, lost...)
	v.h.Status.ObservedGeneration = v.h.Generation
	v.h.Status.UpstreamUID = v.seen.Reading.UID
	return nil
}

// noted reports whether the status already has this decision. That is so if its request was not sent yet, and
// the cloud still has the same value.
func (v *visit) noted(d merge.Decision) bool {
	published, err := ledger.Tree(v.h.Status.UpstreamSpec)
	if err != nil || !v.table.Unchanged(published, v.seen.Reading.Config, d.Path) {
		return false
	}
	for _, old := range slices.Backward(v.h.Status.Decisions) {
		if old.Path == d.Path {
			return string(old.Take) == string(d.Take) && old.Kept == string(d.Kept) && old.Lost == string(d.Lost)
		}
	}
	return false
}

// next returns the request to send; nil if there is none, or if the same one failed not long ago.
func (v *visit) next(plan merge.Plan) *merge.Write {
	if len(plan.Writes) == 0 || v.held(plan) {
		return nil
	}
	return &plan.Writes[0]
}

// held reports whether the first request was refused, or failed, not long ago, and the spec has not changed
// since.
func (v *visit) held(plan merge.Plan) bool {
	op := v.h.Status.Operation
	if op == nil || op.Message == "" || len(plan.Writes) == 0 || v.stored.Status.ObservedGeneration != v.h.Generation {
		return false
	}
	waited := v.now.Sub(op.StartedAt.Time)
	return same(*op, plan.Writes[0]) && waited >= 0 && waited < state.RetryFailed
}

func same(op v1alpha1.Operation, write merge.Write) bool {
	sent := map[string]merge.Text{}
	for _, field := range op.Sent {
		sent[field.Path] = merge.Text(field.Value)
	}
	return op.Call == write.Call && op.Item == write.Item && maps.Equal(sent, write.Sent)
}

func (v *visit) guard(call string) merge.Guard {
	for _, c := range v.table.Calls {
		if c.Name == call {
			return c.Guard
		}
	}
	return ""
}

// lookAgain checks that nobody else's operation is running, and then reads the cluster again. Some clouds show
// an operation only after seconds. The reading has what was done before; the list of operations will show what
// is done from now on. If an operation is running, the plan is not Decided.
func (v *visit) lookAgain(ctx context.Context, write merge.Write) (merge.Plan, error) {
	found, err := v.unknown(ctx, write.Item)
	if err != nil {
		return merge.Plan{}, err
	}
	for _, operation := range found {
		if !operation.Done {
			v.phase, v.seen.Reading.Busy = state.ForeignUpdate, "operation "+operation.ID+" is in progress"
			return merge.Plan{}, nil
		}
	}
	if err := v.read(ctx); err != nil {
		return merge.Plan{}, err
	}
	if phase, step := state.Next(v.seen); step != state.Sync && step != state.Fail && step != state.Resume {
		v.phase = phase
		return merge.Plan{}, nil
	}
	plan, err := v.merge()
	if len(plan.Writes) > 0 && plan.Writes[0].Item != write.Item {
		// The operations of that item were not read: the next reconcile does it.
		plan = merge.Plan{}
		v.phase = state.Verifying
	}
	return plan, err
}

// send sends the request in the status for the first time. So if the cloud refuses it, it was not carried out.
func (v *visit) send(ctx context.Context, write merge.Write) error {
	id, err := v.client.Send(ctx, v.seen.Reading, write, v.h.Status.Operation.RequestToken)
	if err == nil {
		v.event(corev1.EventTypeNormal, "Sent", "Sync", "%s changes %s", write.Call, paths(write))
	}
	return v.sent(ctx, id, err, func() { v.h.Status.Operation = nil })
}

// sent notes the answer to a request. If the answer is neither yes nor no, the operation stays in the status,
// to be resumed.
func (v *visit) sent(ctx context.Context, id string, err error, refused func()) error {
	switch {
	case err == nil:
		v.phase = state.Waiting
		v.h.Status.Operation.CloudID = id
	case errors.Is(err, cloud.ErrThrottled):
		v.failure = err
		refused()
	case errors.Is(err, cloud.ErrBusy):
		v.phase, v.seen.Reading.Busy = state.ForeignUpdate, err.Error()
		refused()
	case errors.Is(err, cloud.ErrRefused), errors.Is(err, cloud.ErrNoVersion), errors.Is(err, cloud.ErrForbidden), errors.Is(err, cloud.ErrUnsupported):
		v.fail(err.Error())
		if errors.Is(err, cloud.ErrForbidden) {
			v.h.Status.Operation.Reason = v1alpha1.ReasonRightMissing
		}
	default:
		v.failure = err
	}
	v.report()
	return v.store(ctx)
}

// fail notes that the operation has failed.
func (v *visit) fail(message string) {
	if message == "" {
		message = "the cloud does not say why"
	}
	op := v.h.Status.Operation
	op.Message = bounded(message)
	v.phase = state.Failed
	v.event(corev1.EventTypeWarning, v1alpha1.ReasonUpdateFailed, "Sync", "%s: %s", op.Call, message)
}

// writeBack copies values of the cloud to the spec. That changes the generation, which enqueues the object.
func (v *visit) writeBack(ctx context.Context, plan merge.Plan) error {
	if len(plan.SpecWrites) == 0 {
		return nil
	}
	spec, err := ledger.Tree(v.h.Spec.ClusterConfig)
	if err != nil {
		return v.invalid(err)
	}
	return v.writeSpec(ctx, v.table.Apply(spec, v.seen.Reading.Config, plan.SpecWrites))
}

// manageAll sets all fields once a cluster has been created. It does so before the status first has the
// cluster, so that a crash cannot skip it.
func (v *visit) manageAll(ctx context.Context, plan merge.Plan) (done bool, err error) {
	if !v.h.Spec.Lifecycle.ManageAll || state.Imported(v.h) {
		return false, nil
	}
	all := cloud.Unmarked(plan.Effective)
	config, err := ledger.Typed(v.h.Spec.ClusterConfig, all)
	if err != nil || equality.Semantic.DeepEqual(config, v.h.Spec.ClusterConfig) {
		return false, err
	}
	v.phase = state.Creating
	return true, v.writeSpec(ctx, all)
}

// writeSpec replaces the configuration in the spec, unless somebody has changed the object.
func (v *visit) writeSpec(ctx context.Context, tree map[string]any) error {
	config, err := ledger.Typed(v.h.Spec.ClusterConfig, tree)
	if err != nil {
		return v.invalid(err)
	}
	status := v.h.Status
	v.h.Spec.ClusterConfig = config
	if err := v.Client.Update(ctx, v.h); err != nil {
		return fmt.Errorf("writing the spec: %w", err)
	}
	v.stored = v.h.DeepCopy()
	v.h.Status = status
	return nil
}
