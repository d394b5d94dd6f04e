package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/internal/decide"
)

func TestPaced(t *testing.T) {
	status, shown := decide.Action{Verb: decide.PatchStatus, Paced: true}, decide.Action{Verb: decide.PatchStatus}
	deletion := decide.Action{Verb: decide.Delete}
	told := &decide.Problem{Reason: "Told"}
	const second = time.Second
	for name, test := range map[string]struct {
		plan decide.Plan
		wait time.Duration
		want decide.Plan
	}{
		"it is its turn":                  {decide.Plan{Actions: []decide.Action{status}, Event: told}, 0, decide.Plan{Actions: []decide.Action{status}, Event: told}},
		"it waits, and nothing is told":   {decide.Plan{Actions: []decide.Action{status}, Event: told}, second, decide.Plan{RetryAfter: second}},
		"what goes with it does not":      {decide.Plan{Actions: []decide.Action{status, deletion}}, second, decide.Plan{Actions: []decide.Action{deletion}, RetryAfter: second}},
		"one that is to be shown at once": {decide.Plan{Actions: []decide.Action{shown}, Event: told}, second, decide.Plan{Actions: []decide.Action{shown}, Event: told}},
		"there is something sooner":       {decide.Plan{Actions: []decide.Action{status}, RetryAfter: second / 2}, second, decide.Plan{RetryAfter: second / 2}},
		"there is something later":        {decide.Plan{Actions: []decide.Action{status}, RetryAfter: 2 * second}, second, decide.Plan{RetryAfter: second}},
		"there is nothing to be written":  {decide.Plan{Problem: told}, second, decide.Plan{Problem: told}},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(test.plan.Actions)
			got := paced(test.plan, test.wait)
			if len(got.Actions) == 0 {
				got.Actions = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(test.plan.Actions) != before {
				t.Error("the plan itself has changed")
			}
		})
	}
}
