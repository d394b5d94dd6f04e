package decide

import (
	"time"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Yielding is a Translation of a kind whose local objects ask one provider, and may ask another one instead.
type Yielding[T Object] interface {
	// Yield changes the metadata of an object that is refused so that it does not ask this provider any more. It
	// returns false if that is of no use. It changes nothing else.
	Yield(metadata T, why field.Problem, around Inputs) bool
}

// yieldAfter is how long a problem must last. Limits, classes and policies of a provider become effective a moment
// after they change.
const yieldAfter = 10 * time.Second

// yield makes an object ask another provider if this one does not take it. Somebody may send it here again: then the
// engine repeats this at growing intervals.
func yield[T Object](c copies[T], s Snapshot[T], plan Plan) Plan {
	yielding, ok := c.Translation.(Yielding[T])
	if !ok || !s.Alone || plan.Problem == nil || len(plan.Actions) > 0 || s.mayPass(plan.Problem) {
		return plan
	}
	before, after := c.metadata(s.Local), c.metadata(s.Local)
	if !yielding.Yield(after, *plan.Problem, s.inputs()) {
		return plan
	}
	left := yieldAfter
	if s.WaitingFor == plan.Problem.Reason {
		left -= s.Waiting
	}
	if left > 0 {
		plan.RecheckAfter = left
		return plan
	}
	plan.Actions = []Action{{Verb: Patch, Side: Local, Object: after, Before: before, Locked: true}}
	told := field.Problemf(plan.Problem.Reason, "%s; the scheduler chooses a node again", plan.Problem.Message)
	plan.Event = &told
	return plan
}

// mayPass reports whether a problem may end without a change of anything that the object depends on.
func (s Snapshot[T]) mayPass(problem *field.Problem) bool {
	return problem.Reason == v1alpha1.ReasonReferenceNotSynced || s.Limits != nil && s.Limits.Unknown != nil || s.Refused != nil && s.Refused.IsTransient()
}
