package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/state"
	"github.com/spillway-io/spillway/internal/field/text"
)

// skew is how far the cloud's clock may be behind ours.
const skew = 5 * time.Minute

// requests sends the requests that create or change a cluster. The status has each request before it is sent,
// and afterwards the answer.
type requests struct{ *visit }

// next returns the request to send; nil if there is none, or if all of them have to wait.
func (r requests) next(plan merge.Plan) *merge.Write {
	return r.table.Next(plan, r.held())
}

// held is what requests may have to wait for.
func (r requests) held() merge.Held {
	changing := r.seen.Reading.Items()
	if r.seen.Reading.Stopped {
		changing = append(changing, "")
	}
	return merge.Held{Refused: ledger.Refusals(r.h), Troubled: r.seen.Reading.Troubled(), Changing: changing, Now: r.now}
}

func same(op v1alpha1.Operation, write merge.Write) bool {
	return op.Call == write.Call && op.Item == write.Item && maps.Equal(ledger.Sent(op), write.Sent)
}

func (r requests) guard(call string) merge.Guard {
	for _, c := range r.table.Calls {
		if c.Name == call {
			return c.Guard
		}
	}
	return ""
}

// send enters a request in the status, and sends it for the first time. So if the cloud refuses it, it was not
// carried out.
func (r requests) send(ctx context.Context, write merge.Write) error {
	token := uuid.NewString()
	ledger.Begin(r.h, write, token, r.now)
	r.phase = state.Writing
	r.report()
	if err := r.store(ctx); err != nil {
		return err
	}
	id, err := r.client.Send(ctx, r.seen.Reading, write, token)
	if err == nil {
		r.event(corev1.EventTypeNormal, "Sent", "Sync", "%s changes %s", write.Call, paths(write))
		r.begun(write)
	}
	return r.sent(ctx, token, id, err, func() {
		if errors.Is(err, cloud.ErrThrottled) {
			// The cloud was read, so nothing has failed. Any other request would be throttled, too.
			r.failure, r.phase = nil, state.Idle
		}
		r.refuse(token, v1alpha1.ReasonBusy, err.Error())
	})
}

// begun notes that the cloud is changing what a request is for. If it can do nothing else meanwhile, that is the
// cluster.
func (r requests) begun(write merge.Write) {
	item := write.Item
	if !r.table.Parallel(write.Call) {
		item = ""
	}
	r.seen.Reading.Change(item, write.Call+" is in progress")
}

// sent notes the answer to a request in the status, and stores it.
func (r requests) sent(ctx context.Context, token, id string, err error, notCarriedOut func()) error {
	r.answered(token, id, err, notCarriedOut)
	r.report()
	return r.store(ctx)
}

// answered notes the answer to a request. If the answer is neither yes nor no, the operation stays in flight, to
// be resumed. notCarriedOut is called if this attempt has certainly changed nothing.
func (r requests) answered(token, id string, err error, notCarriedOut func()) {
	switch {
	case err == nil:
		r.phase = state.Waiting
		op := r.h.Status.Operation(token)
		op.CloudID, op.Reason = id, ""
	case errors.Is(err, cloud.ErrThrottled):
		r.failure = err
		notCarriedOut()
	case errors.Is(err, cloud.ErrBusy):
		r.phase, r.seen.Reading.Busy = state.ForeignUpdate, err.Error()
		notCarriedOut()
	case errors.Is(err, cloud.ErrForbidden):
		r.fail(token, v1alpha1.ReasonRightMissing, err.Error())
	case errors.Is(err, cloud.ErrRefused), errors.Is(err, cloud.ErrNoVersion), errors.Is(err, cloud.ErrUnsupported):
		r.fail(token, "", err.Error())
	default:
		r.failure = err
	}
}

// fail notes that an operation in flight was refused or has failed.
func (r requests) fail(token, reason, message string) {
	if message == "" {
		message = "the cloud does not say why"
	}
	call := r.h.Status.Operation(token).Call
	r.refuse(token, reason, message)
	r.phase = state.Failed
	r.event(corev1.EventTypeWarning, v1alpha1.ReasonUpdateFailed, "Sync", "%s: %s", call, message)
}

// refuse lets an operation in flight wait.
func (r requests) refuse(token, reason, message string) {
	op := r.h.Status.Operation(token)
	var last time.Duration
	if op.Pause != nil {
		last = op.Pause.Duration
	}
	ledger.Refuse(op, reason, bounded(message), r.now, state.Pause(reason, r.table.Deletes(op.Call), last))
}

// adopt finds an operation that was started since, and waits for it. If it is somebody else's, the merge finds
// out.
func (r requests) adopt(ctx context.Context, op *v1alpha1.Operation) (bool, error) {
	found, err := r.unknown(ctx, op.Item)
	if err != nil {
		return false, err
	}
	for _, operation := range found {
		if operation.Created.After(op.StartedAt.Add(-skew)) {
			op.CloudID, r.phase = operation.ID, state.Waiting
			return true, nil
		}
	}
	return false, nil
}

// overwritten returns values that somebody else has set between our read and our request. It is for clouds that
// do not refuse such a request. The list of operations shows these values.
func (r requests) overwritten(ctx context.Context, plan merge.Plan) ([]v1alpha1.Decision, error) {
	var lost []v1alpha1.Decision
	for _, op := range r.h.Status.AllInFlight() {
		if r.guard(op.Call) != merge.ByOperations || r.seen.Running(op) {
			continue
		}
		found, err := r.unknown(ctx, op.Item)
		if err != nil {
			return nil, err
		}
		lost = append(lost, r.lost(plan, op, found)...)
	}
	return lost, nil
}

// lost returns the values that other operations have set, and that ours has overwritten.
func (r requests) lost(plan merge.Plan, op v1alpha1.Operation, found []cloud.Operation) []v1alpha1.Decision {
	was := map[string]merge.Text{}
	for _, base := range r.h.Status.Base {
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
					Path: sent.Path, Take: v1alpha1.SideSpec, Kept: sent.Value, Lost: string(value), Time: metav1.NewTime(r.now),
				})
			}
		}
	}
	return lost
}

func paths(write merge.Write) string {
	var all []string
	for path := range write.Sent {
		all = append(all, path)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// bounded cuts what a cloud says to what the status can hold.
func bounded(message string) string { return text.Bound(message, 1000) }
