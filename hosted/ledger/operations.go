package ledger

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/merge"
)

// maxOperations is how many operations the status keeps.
const maxOperations = 1024

// Begin enters the operation of a write, in place of an earlier one of the same call and item. If that one was
// refused with the same values, its reason and its pause stay until the cloud has answered. The operation is in
// flight until End or Refuse.
func Begin(h *v1alpha1.HostedCluster, write merge.Write, token string, now time.Time) {
	op := v1alpha1.Operation{RequestToken: token, Call: write.Call, Item: write.Item, Version: write.Version, StartedAt: metav1.NewTime(now)}
	for _, path := range slices.Sorted(maps.Keys(write.Sent)) {
		op.Sent = append(op.Sent, v1alpha1.SentField{Path: path, Value: string(write.Sent[path])})
	}
	h.Status.Operations = slices.DeleteFunc(slices.Clone(h.Status.Operations), func(old v1alpha1.Operation) bool {
		if refusal(old).Is(write) {
			op.Reason, op.Pause = old.Reason, old.Pause
		}
		return old.Call == op.Call && old.Item == op.Item
	})
	all := append(h.Status.Operations, op) //nolint:gocritic // It is the same list.
	h.Status.Operations = all[max(0, len(all)-maxOperations):]
}

// End removes the operations in flight whose results were read, or that were certainly not carried out: all but those
// of pools that are being changed.
func End(h *v1alpha1.HostedCluster, changing ...string) {
	h.Status.Operations = slices.DeleteFunc(slices.Clone(h.Status.Operations), func(op v1alpha1.Operation) bool {
		return op.Message == "" && !slices.Contains(changing, op.Item)
	})
	if len(h.Status.Operations) == 0 {
		h.Status.Operations = nil
	}
}

// Forget removes an operation.
func Forget(h *v1alpha1.HostedCluster, token string) {
	h.Status.Operations = slices.DeleteFunc(slices.Clone(h.Status.Operations), func(op v1alpha1.Operation) bool { return op.RequestToken == token })
}

// Refuse notes why an operation in flight was refused or has failed, and how long it waits.
func Refuse(op *v1alpha1.Operation, reason, message string, now time.Time, pause time.Duration) {
	op.Reason, op.Message, op.RetryAt, op.Pause = reason, message, &metav1.Time{Time: now.Add(pause)}, &metav1.Duration{Duration: pause}
}

// Drop removes the operations whose values the plan does not send any more. It keeps those of pools that are being
// changed: the plan sends nothing to these, and their requests still wait.
func Drop(h *v1alpha1.HostedCluster, plan merge.Plan, changing ...string) {
	h.Status.Operations = slices.DeleteFunc(slices.Clone(h.Status.Operations), func(op v1alpha1.Operation) bool {
		return op.Message != "" && !slices.Contains(changing, op.Item) && !slices.ContainsFunc(plan.Writes, refusal(op).Is)
	})
	if len(h.Status.Operations) == 0 {
		h.Status.Operations = nil
	}
}

// Refusals returns the operations that were refused.
func Refusals(h *v1alpha1.HostedCluster) []merge.Refusal {
	var all []merge.Refusal
	for _, op := range h.Status.Operations {
		if op.Message != "" {
			all = append(all, refusal(op))
		}
	}
	return all
}

func refusal(op v1alpha1.Operation) merge.Refusal {
	r := merge.Refusal{Call: op.Call, Item: op.Item, Sent: Sent(op), Stale: op.Reason == v1alpha1.ReasonBusy, Version: op.Version}
	if op.RetryAt != nil {
		r.Until = op.RetryAt.Time
	}
	return r
}

// Sent returns the values that an operation sends.
func Sent(op v1alpha1.Operation) map[string]merge.Text {
	sent := map[string]merge.Text{}
	for _, field := range op.Sent {
		sent[field.Path] = merge.Text(field.Value)
	}
	return sent
}
