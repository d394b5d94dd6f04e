package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

func action(verb decide.Verb, side decide.Side, in string) decide.Action {
	obj := fixture.Local()
	if side == decide.Remote {
		obj = fixture.Remote()
	}
	obj.Namespace = in
	return decide.Action{Verb: verb, Side: side, Object: obj}
}

// TestPostpone checks that a refused deletion, and what a copy reports, wait. Nothing else waits, and nothing
// waits for ever.
func TestPostpone(t *testing.T) {
	deletion, change := action(decide.Delete, decide.Remote, "team-home"), action(decide.Patch, decide.Remote, "team-home")
	telling := action(decide.PatchStatus, decide.Local, "team")
	elsewhere, unpin := action(decide.Delete, decide.Remote, "mount"), action(decide.Delete, decide.Local, "team-home")
	other := field.Problem{Reason: "Other", Message: "first"}
	for name, test := range map[string]struct {
		selection kind.Selection
		refused   decide.Action
		gone      bool
		after     time.Duration
		plan      decide.Plan
		want      int // The number of actions that are left.
		problem   string
	}{
		"the deletion":             {kind.Referenced, deletion, false, 0, decide.Plan{Actions: []decide.Action{deletion}}, 0, "Rejected"},
		"its time has come":        {kind.Referenced, deletion, false, time.Minute, decide.Plan{Actions: []decide.Action{deletion}}, 1, ""},
		"a deletion elsewhere":     {kind.Referenced, deletion, false, 0, decide.Plan{Actions: []decide.Action{elsewhere}}, 1, ""},
		"one of two":               {kind.Referenced, deletion, false, 0, decide.Plan{Actions: []decide.Action{deletion, elsewhere}}, 1, "Rejected"},
		"a change":                 {kind.Referenced, deletion, false, 0, decide.Plan{Actions: []decide.Action{change}}, 1, ""},
		"a change was refused":     {kind.Referenced, change, false, 0, decide.Plan{Actions: []decide.Action{deletion}}, 1, ""},
		"in the consumer":          {kind.Referenced, deletion, false, 0, decide.Plan{Actions: []decide.Action{unpin}}, 1, ""},
		"what a copy tells":        {kind.InMappedNamespace, telling, false, 0, decide.Plan{Actions: []decide.Action{telling}}, 0, "Rejected"},
		"it, and a deletion":       {kind.InMappedNamespace, telling, false, 0, decide.Plan{Actions: []decide.Action{telling, deletion}}, 1, "Rejected"},
		"another problem is first": {kind.Referenced, deletion, false, 0, decide.Plan{Actions: []decide.Action{deletion}, Problem: &other}, 0, "Other"},
		"the local one is gone":    {kind.Referenced, deletion, true, 0, decide.Plan{Actions: []decide.Action{deletion}}, 1, ""},
		"on the node":              {kind.OnVirtualNode, deletion, false, 0, decide.Plan{Actions: []decide.Action{deletion}}, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, rig := planner()
			rig.Kind.Selection = test.selection
			s := fixture.Observed(fixture.Local(), fixture.Remote())
			rig.Refuse(s, test.refused, field.Problem{Reason: "Rejected", Message: "no"})
			rig.Clock.Step(test.after)
			if test.gone {
				s.Local = nil
			}
			planned := len(test.plan.Actions)
			s.Now = rig.Clock.Now()
			run := planning[*corev1.ConfigMap]{Planner: p, s: s, record: rig.Attempts.Get(s.Key)}
			got := run.postpone(test.plan)
			problem := ""
			if got.Problem != nil {
				problem = got.Problem.Reason
			}
			if len(got.Actions) != test.want || problem != test.problem || (got.RetryAfter > 0) != (test.want < planned) {
				t.Errorf("%d actions are left, with the problem %q, again after %s", len(got.Actions), problem, got.RetryAfter)
			}
			if len(test.plan.Actions) != planned {
				t.Error("the plan itself has changed")
			}
		})
	}
}
