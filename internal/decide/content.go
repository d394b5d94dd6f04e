package decide

import (
	"slices"

	"github.com/spillway-io/spillway/internal/translate"
)

// WithContent returns the plan, or, if it writes content of which only a digest is known, a
// plan that reads the local object. The next plan has the content then. Actions over budget,
// or refused before, are not in the plan any more, so they cause no read.
func WithContent[T Object](s Subject[T], plan Plan) Plan {
	if !Present(s.Local) || !slices.ContainsFunc(plan.Actions, Action.lacksContent) {
		return plan
	}
	return act(Action{Verb: Read, Side: Local, Object: s.Local})
}

func (a Action) lacksContent() bool {
	return a.Side == Remote && (a.Verb == Create || a.Verb == Patch) && translate.LacksContent(a.Before, a.Object)
}
