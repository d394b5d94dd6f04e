package syncer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPaced(t *testing.T) {
	status, shown := Action{Verb: PatchStatus, Paced: true}, Action{Verb: PatchStatus}
	deletion := Action{Verb: Delete}
	told := &Problem{Reason: "Told"}
	const second = time.Second
	for name, test := range map[string]struct {
		plan Plan
		wait time.Duration
		want Plan
	}{
		"it is its turn":                  {Plan{Actions: []Action{status}, Event: told}, 0, Plan{Actions: []Action{status}, Event: told}},
		"it waits, and nothing is told":   {Plan{Actions: []Action{status}, Event: told}, second, Plan{RetryAfter: second}},
		"what goes with it does not":      {Plan{Actions: []Action{status, deletion}}, second, Plan{Actions: []Action{deletion}, RetryAfter: second}},
		"one that is to be shown at once": {Plan{Actions: []Action{shown}, Event: told}, second, Plan{Actions: []Action{shown}, Event: told}},
		"there is something sooner":       {Plan{Actions: []Action{status}, RetryAfter: second / 2}, second, Plan{RetryAfter: second / 2}},
		"there is something later":        {Plan{Actions: []Action{status}, RetryAfter: 2 * second}, second, Plan{RetryAfter: second}},
		"there is nothing to be written":  {Plan{Problem: told}, second, Plan{Problem: told}},
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
