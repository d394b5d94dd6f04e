package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/state"
)

// skew is how far the cloud's clock may be behind ours.
const skew = 5 * time.Minute

// resume continues with a request that may or may not have been sent: the process ended, or there was no
// answer. It sends the request again if the spec still wants the same change, and the cloud still has what the
// decision was based on. Besides, one of these must hold:
//
//   - the cloud recognises the token of the request;
//   - the cloud still has the version that was read, and refuses the request otherwise;
//   - the cloud has started no operation since.
//
// Otherwise the request counts as sent, and the merge finds out what became of it.
func (v *visit) resume(ctx context.Context) error {
	op := v.h.Status.Operation
	in, err := ledger.Input(v.h, v.table, v.seen.Reading, v.now)
	if err != nil {
		return v.invalid(err)
	}
	in.Sent = nil
	for _, write := range merge.Merge(in).Writes {
		if !same(*op, write) || !v.table.Unchanged(v.seen.Reading.Config, in.Published, sentPaths(*op)...) {
			continue
		}
		guard := v.guard(op.Call)
		if guard == merge.ByVersion && op.Version != write.Version {
			continue
		}
		if guard == merge.ByOperations && !v.client.Idempotent() {
			if found, err := v.adopt(ctx); found || err != nil {
				v.failure = err
				return nil
			}
		}
		v.phase = state.Waiting
		id, err := v.client.Send(ctx, v.seen.Reading, write, op.RequestToken)
		return v.sent(ctx, id, err, func() {})
	}
	v.phase = state.Verifying
	return v.sync(ctx)
}

// adopt finds an operation that was started since, and waits for it. If it is somebody else's, the merge finds
// out.
func (v *visit) adopt(ctx context.Context) (bool, error) {
	op := v.h.Status.Operation
	found, err := v.unknown(ctx, op.Item)
	if err != nil {
		return false, err
	}
	for _, operation := range found {
		if operation.Created.After(op.StartedAt.Add(-skew)) {
			op.CloudID, v.phase = operation.ID, state.Waiting
			return true, nil
		}
	}
	return false, nil
}

// overwritten returns values that somebody else has set between our read and our request. It is for clouds that
// do not refuse such a request. The list of operations shows these values.
func (v *visit) overwritten(ctx context.Context, plan merge.Plan) ([]v1alpha1.Decision, error) {
	op := v.h.Status.Operation
	if op == nil || op.Message != "" || v.guard(op.Call) != merge.ByOperations {
		return nil, nil
	}
	found, err := v.unknown(ctx, op.Item)
	if err != nil {
		return nil, err
	}
	was := map[string]merge.Text{}
	for _, base := range v.h.Status.Base {
		was[base.Path] = merge.Text(base.Upstream)
	}
	has := map[string]merge.Text{}
	for _, leaf := range plan.Leaves {
		has[leaf.Path] = leaf.Upstream
	}
	var lost []v1alpha1.Decision
	for _, operation := range found {
		if operation.ID == op.CloudID || operation.Created.Before(op.StartedAt.Add(-skew)) {
			continue
		}
		for _, sent := range op.Sent {
			value, set := operation.Values[sent.Path]
			if ours := merge.Text(sent.Value); set && value != ours && value != was[sent.Path] && has[sent.Path] == ours {
				lost = append(lost, v1alpha1.Decision{
					Path: sent.Path, Take: v1alpha1.SideSpec, Kept: sent.Value, Lost: string(value), Time: metav1.NewTime(v.now),
				})
			}
		}
	}
	return lost, nil
}

func sentPaths(op v1alpha1.Operation) []string {
	var paths []string
	for _, sent := range op.Sent {
		paths = append(paths, sent.Path)
	}
	return paths
}
