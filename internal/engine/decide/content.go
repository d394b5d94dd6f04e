package decide

import (
	"slices"

	"github.com/spillway-io/spillway/internal/field"
)

// WithContent returns the plan. If the plan writes content and the cache has only a digest of it, WithContent
// returns a plan that reads the local object instead. The next plan then has the content. Actions that are
// over budget or were refused are no longer in the plan, so they cause no read.
func WithContent[T Object](s ObjectState[T], plan Plan) Plan {
	if !Present(s.Local) || !slices.ContainsFunc(plan.Actions, Action.lacksContent) {
		return plan
	}
	return act(Action{Verb: Read, Side: Local, Object: s.Local})
}

func (a Action) lacksContent() bool {
	return a.Side == Remote && (a.Verb == Create || a.Verb == Patch) && field.LacksContent(a.Before, a.Object)
}
