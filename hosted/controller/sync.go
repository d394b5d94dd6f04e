package controller

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/state"
)

// syncer keeps the configurations of the object and of its cluster in step.
type syncer struct{ requests }

// failed notes which operations have failed.
func (s syncer) failed() {
	for _, op := range s.seen.Failed() {
		s.fail(op.RequestToken, "", s.seen.Operations[op.RequestToken].Message)
		s.tried = append(s.tried, op)
	}
}

// sync merges, stores the decisions, and sends the first request of the plan that does not have to wait.
func (s syncer) sync(ctx context.Context) error {
	before := slices.Clone(s.h.Status.Operations)
	s.failed()
	plan, err := s.merge()
	if err != nil {
		return s.invalid(err)
	}
	if write := s.next(plan); write != nil && s.guard(write.Call) == merge.ByOperations {
		if plan, err = s.lookAgain(ctx, *write); err != nil || !plan.Decided {
			// What has failed is noted together with what the merge makes of it.
			s.failure, s.h.Status.Operations = err, before
			return nil
		}
	}
	if done, err := s.manageAll(ctx, plan); done || err != nil {
		return err
	}
	lost, err := s.overwritten(ctx, plan)
	if err != nil {
		s.failure, s.h.Status.Operations = err, before
		return nil
	}
	if err := s.enter(plan, lost); err != nil {
		return s.invalid(err)
	}
	if write := s.next(plan); write != nil {
		err := s.send(ctx, *write)
		s.more = err == nil && (s.phase == state.Failed || s.phase == state.Waiting) && s.next(plan) != nil
		return err
	}
	s.report()
	if err := s.store(ctx); err != nil {
		return err
	}
	return s.writeBack(ctx, plan)
}

func (s syncer) merge() (merge.Plan, error) {
	in, err := ledger.Input(s.h, s.table, s.seen.Reading, s.now)
	if err != nil {
		return merge.Plan{}, err
	}
	if slices.ContainsFunc(s.h.Status.Operations, func(op v1alpha1.Operation) bool { return op.Call == state.CallCreate }) {
		// The cluster was created from the spec, as far as one request can express that. What is missing is sent;
		// nobody else has set it.
		in.Published = s.seen.Reading.Config
	}
	in.Tried = map[string]merge.Text{}
	for _, op := range s.tried {
		maps.Copy(in.Tried, ledger.Sent(op))
	}
	return merge.Merge(in), nil
}

// enter notes the plan in the status. It removes the operations in flight whose results were read, and the refused
// operations that the plan does not need any more.
func (s syncer) enter(plan merge.Plan, lost []v1alpha1.Decision) error {
	changing := s.seen.Reading.Items()
	ledger.End(s.h, changing...)
	ledger.Drop(s.h, plan, changing...)
	if err := ledger.Enter(s.h, plan, s.table.Waits(plan, s.held()), s.seen.Reading); err != nil {
		return err
	}
	ledger.Note(s.h, lost...)
	s.h.Status.ObservedGeneration = s.h.Generation
	s.h.Status.UpstreamUID = s.seen.Reading.UID
	return nil
}

// lookAgain checks that nobody else's operation is running, and then reads the cluster again. Some clouds show
// an operation only after seconds. The reading has what was done before; the list of operations will show what
// is done from now on. If an operation is running, the plan is not Decided.
func (s syncer) lookAgain(ctx context.Context, write merge.Write) (merge.Plan, error) {
	found, err := s.unknown(ctx, write.Item)
	if err != nil {
		return merge.Plan{}, err
	}
	for _, operation := range found {
		if !operation.Done {
			s.phase, s.seen.Reading.Busy = state.ForeignUpdate, "operation "+operation.ID+" is in progress"
			return merge.Plan{}, nil
		}
	}
	if err := s.read(ctx); err != nil {
		return merge.Plan{}, err
	}
	if phase, step := state.Next(s.seen); step != state.Sync && step != state.Fail && step != state.Resume {
		s.phase = phase
		return merge.Plan{}, nil
	}
	plan, err := s.merge()
	if next := s.next(plan); next != nil && next.Item != write.Item {
		// The operations of that item were not read: the next reconcile does it.
		plan = merge.Plan{}
		s.phase = state.Verifying
	}
	return plan, err
}

// writeBack copies values of the cloud to the spec. That changes the generation, which enqueues the object.
func (s syncer) writeBack(ctx context.Context, plan merge.Plan) error {
	if len(plan.SpecWrites) == 0 {
		return nil
	}
	spec, err := ledger.Tree(s.h.Spec.ClusterConfig)
	if err != nil {
		return s.invalid(err)
	}
	config, err := ledger.Typed(s.h.Spec.ClusterConfig, s.table.Apply(spec, s.seen.Reading.Config, plan.SpecWrites))
	if err != nil {
		return s.invalid(err)
	}
	return s.writeSpec(ctx, config)
}

// manageAll sets all fields once a cluster has been created. It does so before the status first has the
// cluster, so that a crash cannot skip it.
func (s syncer) manageAll(ctx context.Context, plan merge.Plan) (done bool, err error) {
	if !s.h.Spec.Lifecycle.ManageAll || state.Imported(s.h) {
		return false, nil
	}
	config, err := ledger.Typed(s.h.Spec.ClusterConfig, cloud.Unmarked(plan.Effective))
	if err != nil || equality.Semantic.DeepEqual(config, s.h.Spec.ClusterConfig) {
		return false, err
	}
	s.phase = state.Creating
	return true, s.writeSpec(ctx, config)
}

// resume continues with a request that may or may not have been sent: the process ended, or there was no
// answer. It sends the request again if the spec still wants the same change, and the cloud still has what the
// decision was based on. Besides, one of these must hold:
//
//   - the cloud recognises the token of the request;
//   - the cloud still has the version that was read, and refuses the request otherwise;
//   - the cloud has started no operation since.
//
// Otherwise the request counts as sent, and the merge finds out what became of it.
func (s syncer) resume(ctx context.Context) error {
	op := s.h.Status.Operation(s.seen.Unknown().RequestToken)
	in, err := ledger.Input(s.h, s.table, s.seen.Reading, s.now)
	if err != nil {
		return s.invalid(err)
	}
	maps.DeleteFunc(in.Sent, func(path string, _ merge.Text) bool { return slices.Contains(sentPaths(*op), path) })
	plan := merge.Merge(in)
	waits := s.table.Waits(plan, s.held())
	for i, write := range plan.Writes {
		if same(*op, write) && waits[i].For != "" {
			// It must not be sent now. It was not carried out, as far as anybody can see, so it is decided again.
			ledger.Forget(s.h, op.RequestToken)
			s.phase = state.Verifying
			return s.sync(ctx)
		}
		if !same(*op, write) || !s.table.Unchanged(s.seen.Reading.Config, in.Published, sentPaths(*op)...) {
			continue
		}
		guard := s.guard(op.Call)
		if guard == merge.ByVersion && op.Version != write.Version {
			continue
		}
		if guard == merge.ByOperations && !s.client.Idempotent() {
			if found, err := s.adopt(ctx, op); found || err != nil {
				s.failure = err
				return nil
			}
		}
		s.phase = state.Waiting
		token := op.RequestToken
		id, err := s.client.Send(ctx, s.seen.Reading, write, token)
		return s.sent(ctx, token, id, err, func() {})
	}
	s.phase = state.Verifying
	return s.sync(ctx)
}

func sentPaths(op v1alpha1.Operation) []string {
	var paths []string
	for _, sent := range op.Sent {
		paths = append(paths, sent.Path)
	}
	return paths
}
