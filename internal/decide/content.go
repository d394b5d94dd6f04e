package decide

import (
	"slices"

	"github.com/spillway-io/spillway/internal/translate"
)

// WithContent makes a plan executable: if it writes content of which only a digest is
// known, the local object is read first and decided on again. What is over budget, or
// was refused, is no longer in the plan by then, and is not read.
func WithContent[T Object](s Snapshot[T], plan Plan) Plan {
	if !Present(s.Local) || !slices.ContainsFunc(plan.Actions, Action.lacksContent) {
		return plan
	}
	return act(Action{Verb: Read, Side: Local, Object: s.Local})
}

func (a Action) lacksContent() bool {
	return a.Side == Remote && (a.Verb == Create || a.Verb == Patch) && translate.LacksContent(a.Before, a.Object)
}
