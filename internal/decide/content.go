package decide

import (
	"slices"

	"github.com/spillway-io/spillway/internal/translate"
)

// WithContent replaces a plan that writes content of which only a digest is known by one
// that reads the local object; the next plan then has the content. Actions that are over
// budget or were refused have been dropped before, so nothing is read for them.
func WithContent[T Object](s Snapshot[T], plan Plan) Plan {
	if !Present(s.Local) || !slices.ContainsFunc(plan.Actions, Action.lacksContent) {
		return plan
	}
	return act(Action{Verb: Read, Side: Local, Object: s.Local})
}

func (a Action) lacksContent() bool {
	return a.Side == Remote && (a.Verb == Create || a.Verb == Patch) && translate.LacksContent(a.Before, a.Object)
}
