package attempts

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// Statuses limits how often Spillway writes the status of one object. A provider may change a status as often
// as it likes. A pod that starts and ends needs fewer writes than the burst.
var Statuses = throttle.Rate{Burst: 5, Interval: time.Second}

// Copies limits how often Spillway writes the copies of one object, for kinds that are paced.
var Copies = throttle.Rate{Burst: 1, Interval: time.Second}

// Record is what is remembered about one object. Its zero value means nothing, and takes no memory. A copy of a
// Record does not change with it.
type Record struct {
	// Refusals has the requests that API servers have refused.
	Refusals Refusals
	// Writes has the writes that are paced because somebody may revert them.
	Writes Writes
	// Conflicts is the streak of conflicts of the creation. ServerErrors is the streak of server errors.
	Conflicts, ServerErrors retry.Streak
	// StatusesUsed is for Statuses, and CopiesUsed for Copies.
	StatusesUsed, CopiesUsed time.Time
	// Lost is the UID of the local object, if the provider said that it has no remote one for it.
	Lost types.UID
	// Unanswered is the UID of the local object whose creation in the provider got no answer. The provider may
	// have carried it out.
	Unanswered types.UID
	// DroppedStatus is the last change of the status that the consumer did not keep; nil if there was none.
	DroppedStatus *decide.AppliedAction
	// WaitingFor is the reason of the object's problem. Since is when it began.
	WaitingFor string
	Since      time.Time
	// RemoteChangedAt is when the first change of the remote object arrived that the local object does not show yet.
	RemoteChangedAt time.Time
}

func (r *Record) isEmpty() bool {
	return len(r.Refusals) == 0 && len(r.Writes) == 0 && r.Conflicts == retry.Streak{} && r.ServerErrors == retry.Streak{} &&
		r.StatusesUsed.IsZero() && r.CopiesUsed.IsZero() && r.Lost == "" && r.Unanswered == "" && r.DroppedStatus == nil &&
		r.WaitingFor == "" && r.RemoteChangedAt.IsZero()
}

// Waiting returns the reason of the object's problem, and how long the object has had it.
func (r *Record) Waiting(now time.Time) (reason string, waited time.Duration) {
	if r.WaitingFor == "" {
		return "", 0
	}
	return r.WaitingFor, now.Sub(r.Since)
}

// succeeded forgets the failures of an action that has now succeeded.
func (r *Record) succeeded(verb decide.Verb, in string) {
	r.Conflicts = retry.Streak{}
	if verb != decide.PatchStatus { // The status may say that another action fails.
		r.ServerErrors = retry.Streak{}
	}
	r.Refusals.accepted(verb, in)
}

// reconciled notes the outcome of a reconcile. Another reason of the problem starts the time anew, so a short
// problem is not reported because of a long one before it.
func (r *Record) reconciled(outcome Reconciled, now time.Time) {
	if outcome.Problem == nil {
		r.WaitingFor, r.Since = "", time.Time{}
	} else if r.WaitingFor != outcome.Problem.Reason {
		r.WaitingFor, r.Since = outcome.Problem.Reason, now
	}
	if !outcome.IsPending && !r.RemoteChangedAt.After(outcome.Observed) {
		r.RemoteChangedAt = time.Time{}
	}
	if outcome.Withdrawn {
		r.Writes.withdraw()
	}
	if outcome.Version != "" {
		r.Refusals.retain(outcome.Version, now)
	}
}
