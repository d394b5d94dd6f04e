package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

func TestPaced(t *testing.T) {
	status, shown := decide.Action{Verb: decide.PatchStatus, Paced: true}, decide.Action{Verb: decide.PatchStatus}
	deletion := decide.Action{Verb: decide.Delete}
	told := &field.Problem{Reason: "Told"}
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
			got := paced(test.plan, test.wait, isPaced)
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

// TestPacedCopies checks that a copy of a paced kind is written once a second. What the end of its object
// requires is done at once.
func TestPacedCopies(t *testing.T) {
	p, rig := planner()
	p.Kind.Paced = true
	there := func(change ...fixture.Option) fixture.ObjectState {
		s := fixture.Observed(fixture.Local(append(change, fixture.Sent)...), fixture.Remote())
		s.Known = true
		return s
	}
	verbs := func(s fixture.ObjectState) (verbs []decide.Verb, again time.Duration) {
		plan := run(p, rig, s)
		for _, a := range plan.Actions {
			verbs = append(verbs, a.Verb)
		}
		return verbs, plan.RetryAfter
	}
	changed := there(fixture.Data("a", "2"))
	wrote := func() {
		rig.Attempts.Change(changed.Key, func(r *attempts.Record) { r.CopiesUsed = attempts.Copies.Wrote(r.CopiesUsed, rig.Clock.Now()) })
	}
	if got, again := verbs(changed); !slices.Equal(got, []decide.Verb{decide.Patch}) || again != 0 {
		t.Errorf("at first: %v, again after %s", got, again)
	}
	wrote()
	rig.Clock.Step(400 * time.Millisecond)
	if got, again := verbs(changed); len(got) > 0 || again != 600*time.Millisecond {
		t.Errorf("too soon: %v, again after %s", got, again)
	}
	if got, _ := verbs(fixture.Observed(nil, fixture.Remote())); !slices.Equal(got, []decide.Verb{decide.Delete}) {
		t.Errorf("the object is gone: %v", got)
	}
	rig.Clock.Step(600 * time.Millisecond)
	if got, _ := verbs(changed); !slices.Equal(got, []decide.Verb{decide.Patch}) {
		t.Errorf("after a second: %v", got)
	}
	p.Kind.Paced = false
	wrote()
	if got, _ := verbs(changed); len(got) != 1 {
		t.Errorf("of another kind: %v", got)
	}
}

// TestSettles checks that a copy changes only after the change has been wanted for a while without a break. It
// is created and deleted at once.
func TestSettles(t *testing.T) {
	p, rig := planner()
	p.Kind.Settles = func(_, after *corev1.ConfigMap) (string, time.Duration) {
		return after.Data["change"], 2 * time.Second
	}
	seen := func(remote *corev1.ConfigMap, options ...fixture.Option) fixture.ObjectState {
		s := fixture.Observed(fixture.Local(append(options, fixture.Sent)...), remote)
		s.Known = true
		return s
	}
	as, other := seen(fixture.Remote()), seen(fixture.Remote(), fixture.Data("a", "2"))
	another := seen(fixture.Remote(), fixture.Data("a", "2"), fixture.Data("change", "less"))
	// planned remembers the plan as a reconcile does.
	planned := func(s fixture.ObjectState) (verbs []decide.Verb, again time.Duration) {
		record := rig.Attempts.Get(s.Key)
		s.WaitingFor, s.Waiting = record.Waiting(rig.Clock.Now())
		plan := run(p, rig, s)
		for _, a := range plan.Actions {
			verbs = append(verbs, a.Verb)
		}
		if len(verbs) == 0 {
			rig.Attempts.Reconciled(s.Key, attempts.Reconciled{Problem: plan.Problem})
		}
		return verbs, plan.RetryAfter
	}
	const second = time.Second
	for _, step := range []struct {
		what  string
		s     fixture.ObjectState
		after time.Duration
		want  []decide.Verb
		again time.Duration
	}{
		{"it is not there", seen(nil), 0, []decide.Verb{decide.Create}, 0},
		{"it is to change", other, 0, nil, 2 * second},
		{"it is still to change", other, second, nil, second},
		{"it is to change otherwise", another, 0, nil, 2 * second},
		{"that is not what it is to be", other, second, nil, 2 * second},
		{"it is as it should be again", as, second / 2, nil, 0},
		{"it is to change after all", other, second, nil, 2 * second},
		{"that has lasted", other, 2 * second, []decide.Verb{decide.Patch}, 0},
		{"its object is gone", fixture.Observed(nil, fixture.Remote()), 0, []decide.Verb{decide.Delete}, 0},
	} {
		rig.Clock.Step(step.after)
		if got, again := planned(step.s); !slices.Equal(got, step.want) || again != step.again {
			t.Errorf("%s: %v, again after %s", step.what, got, again)
		}
	}
	rig.Attempts.Reconciled(other.Key, attempts.Reconciled{Problem: &field.Problem{Reason: "Other"}})
	rig.Clock.Step(time.Hour)
	if got, again := planned(other); len(got) > 0 || again != 2*second {
		t.Errorf("after another problem: %v, again after %s", got, again)
	}
}
