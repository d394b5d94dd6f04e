package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

func planner() (*Planner[*corev1.ConfigMap], *enginetest.Rig) {
	rig := enginetest.New()
	return &Planner[*corev1.ConfigMap]{Kind: rig.Kind, Binding: "europe", ClusterID: "eu"}, rig
}

// run plans for an object, and remembers what the plan refuses, as a reconcile does.
func run(p *Planner[*corev1.ConfigMap], rig *enginetest.Rig, s fixture.ObjectState, made ...decide.AppliedAction) decide.Plan {
	s.RemoteStates = slices.Clone(s.RemoteStates)
	if s.Now = rig.Clock.Now(); s.Local != nil {
		attempts.Recall(&s, rig.Kind, rig.Attempts.Get(s.Key).Refusals)
	}
	result := p.Plan(s, rig.Attempts.Get(s.Key), made)
	for _, refused := range result.Refused {
		rig.Reporter.Refused(s, refused)
	}
	if result.Dropped != nil {
		rig.Attempts.Change(s.Key, func(r *attempts.Record) { r.DroppedStatus = result.Dropped })
	}
	return result.Plan
}

// TestAfforded checks that a copy over the budget waits until there is room.
func TestAfforded(t *testing.T) {
	p, rig := planner()
	full := "namespace team has 25 objects there, and the limit for a namespace is 25"
	p.Exceeds = func(_, _ client.Object) string { return full }
	s := fixture.Observed(fixture.Local(fixture.Sent), nil)
	s.Known = true
	plan := run(p, rig, s)
	if len(plan.Actions) > 0 || plan.Problem == nil || plan.Problem.Reason != v1alpha1.ReasonOverBudget {
		t.Fatalf("got %v with the problem %v", plan.Actions, plan.Problem)
	}
	for _, part := range []string{"team-home/settings", full, "ClusterBinding europe"} {
		if !strings.Contains(plan.Problem.Message, part) {
			t.Errorf("%q does not say %q", plan.Problem.Message, part)
		}
	}
	if plan.RetryAfter <= 0 || plan.RetryAfter > 30*time.Second {
		t.Errorf("it is tried again after %s", plan.RetryAfter)
	}
	said := plan.Problem.Message
	full = "namespace team has 26 objects there, and the limit for a namespace is 25"
	rig.Clock.Step(plan.RetryAfter)
	if again := run(p, rig, s); again.Problem == nil || again.Problem.Message != said {
		t.Errorf("another number is another text: %v", again.Problem)
	}
	full = ""
	rig.Clock.Step(time.Minute)
	if plan := run(p, rig, s); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Create {
		t.Errorf("there is room, and what is done is %v, for %v", plan.Actions, plan.Problem)
	}
	full = "all namespaces have too much"
	gone := fixture.Observed(nil, fixture.Remote())
	if plan := run(p, rig, gone); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Delete {
		t.Errorf("a deletion is held up: %v", plan.Actions)
	}
}

// TestTooMany checks that a third object waits if a namespace may have two, until one is gone.
func TestTooMany(t *testing.T) {
	p, rig := planner()
	there := map[string]int{"home": 5, "team": 2}
	p.Kind.Most, p.Count = 2, func(namespace string) int { return there[namespace] }
	local := fixture.Local(fixture.Sent)
	local.Namespace = "team"
	s := fixture.Observed(local, nil)
	s.Key, s.Known = client.ObjectKeyFromObject(local), true
	plan := run(p, rig, s)
	if len(plan.Actions) > 0 || plan.Problem == nil || plan.Problem.Reason != v1alpha1.ReasonOverBudget {
		t.Fatalf("got %v with the problem %v", plan.Actions, plan.Problem)
	}
	const says = "namespace team has 2 of its kind there, and the limit for a namespace is 2"
	if !strings.Contains(plan.Problem.Message, says) || strings.Contains(plan.Problem.Message, "spec.budget") {
		t.Errorf("%q does not say %q, or names a budget", plan.Problem.Message, says)
	}
	if plan.RetryAfter <= 0 || plan.RetryAfter > 30*time.Second {
		t.Errorf("it is tried again after %s", plan.RetryAfter)
	}
	there["team"] = 1
	rig.Clock.Step(plan.RetryAfter)
	if plan := run(p, rig, s); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Create {
		t.Errorf("there is room, and what is done is %v, for %v", plan.Actions, plan.Problem)
	}
	there["team"] = 3
	changes := fixture.Observed(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote())
	if plan := run(p, rig, changes); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Patch {
		t.Errorf("one that is there cannot change: %v, for %v", plan.Actions, plan.Problem)
	}
}

// TestTooMuchMetadata checks that an object with too much metadata is neither sent nor updated, however it was
// read. For a copy, its owner is informed.
func TestTooMuchMetadata(t *testing.T) {
	long := func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(m.Annotations, "a", string(make([]byte, field.MostMetadata)))
	}
	short := func(m *corev1.ConfigMap) { m.Annotations = field.Shortened(m.Annotations) }
	changed := fixture.Data("a", "2")
	for name, test := range map[string]struct {
		snapshot fixture.ObjectState
		told     []string
	}{
		"whole":                         {fixture.Observed(fixture.Local(fixture.Sent, long), nil), nil},
		"shortened":                     {fixture.Observed(fixture.Local(fixture.Sent, short), nil), nil},
		"with a copy":                   {fixture.Observed(fixture.Local(fixture.Sent, long, changed), fixture.Remote()), []string{field.ReasonMetadataTooLarge}},
		"with a copy, shortened":        {fixture.Observed(fixture.Held(fixture.Local(fixture.Sent, short, changed)), fixture.Remote()), []string{field.ReasonMetadataTooLarge}},
		"with a copy of before it grew": {fixture.Observed(fixture.Local(fixture.Sent, short, changed), fixture.Remote(long)), []string{field.ReasonMetadataTooLarge}},
	} {
		t.Run(name, func(t *testing.T) {
			p, rig := planner()
			plan := run(p, rig, test.snapshot)
			if len(plan.Actions) > 0 || plan.Problem == nil || plan.Problem.Reason != field.ReasonMetadataTooLarge ||
				plan.Problem.Message != field.MetadataTooLarge(test.snapshot.Local, nil).Message {
				t.Errorf("got %v with the problem %v", plan.Actions, plan.Problem)
			}
			if diff := cmp.Diff(test.told, rig.Recorded()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTooMuchMetadataOfOneOnTheNode checks that the provider decides about such a pod: it is no copy that other
// objects need.
func TestTooMuchMetadataOfOneOnTheNode(t *testing.T) {
	p, rig := planner()
	p.Kind.Selection = kind.OnVirtualNode
	local := fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(m.Annotations, "a", string(make([]byte, field.MostMetadata)))
	})
	if plan := run(p, rig, fixture.Observed(local, nil)); len(plan.Actions) != 1 || plan.Problem != nil {
		t.Errorf("got %v with the problem %v", plan.Actions, plan.Problem)
	}
}

// TestADecisionThatDoesNotGiveUp checks that such a decision waits for a while, and does not loop for ever.
func TestADecisionThatDoesNotGiveUp(t *testing.T) {
	p, rig := planner()
	asked := 0
	p.Exceeds = func(_, _ client.Object) string { asked++; return "too much" }
	insists := decide.Plan{
		Actions: []decide.Action{{Verb: decide.Patch, Side: decide.Remote, Before: fixture.Remote(), Object: fixture.Remote(fixture.Data("a", "2"))}},
		Problem: &field.Problem{Reason: "Insists"},
	}
	p.Kind.Syncer = planned{fixture.Copies, insists}
	s := fixture.Observed(fixture.Local(fixture.Sent), fixture.Remote())
	want := decide.Plan{Problem: insists.Problem, RetryAfter: 5 * time.Second}
	if diff := cmp.Diff(want, run(p, rig, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if asked > 20 || !rig.IsRefused(s.Key) {
		t.Errorf("it was asked for %d times, refused: %t", asked, rig.IsRefused(s.Key))
	}
}

// TestTakenBackContent checks that a reverted change is reported, although the content was read in between.
func TestTakenBackContent(t *testing.T) {
	p, rig := planner()
	local := fixture.Local(fixture.Sent, fixture.Data("a", "2"))
	before := fixture.Held(fixture.Remote())
	s := fixture.Observed(local, before)
	first := run(p, rig, s)
	if len(first.Actions) != 1 || first.Actions[0].Verb != decide.Patch {
		t.Fatalf("got %v", first.Actions)
	}
	after := fixture.Held(fixture.Remote(func(m *corev1.ConfigMap) { m.ResourceVersion = "10" })) // As it was before.
	s.RemoteStates[0].Remote = after
	made := []decide.AppliedAction{{Action: first.Actions[0], Response: after}}
	s.Local = fixture.Held(local)
	if plan := run(p, rig, s, made...); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Read {
		t.Fatalf("got %v", plan.Actions)
	}
	made = append(made, decide.AppliedAction{Action: decide.Action{Verb: decide.Read, Side: decide.Local}, Response: local})
	s.Local = local // As the consumer answered.
	if plan := run(p, rig, s, made...); len(plan.Actions) > 0 || plan.Problem == nil {
		t.Errorf("got %v with the problem %v", plan.Actions, plan.Problem)
	}
}

// TestRefusedDeletionOfACopyWaits checks that a refused deletion is retried, but not in each reconcile.
func TestRefusedDeletionOfACopyWaits(t *testing.T) {
	p, rig := planner()
	s := fixture.Observed(fixture.Local(fixture.SentTo("eu", "team-home/settings")), fixture.Remote(), fixture.Unwanted)
	deletes := func() (plan decide.Plan, n int) {
		plan = run(p, rig, s)
		return plan, len(plan.Actions)
	}
	plan, n := deletes()
	if n != 1 || plan.Actions[0].Verb != decide.Delete {
		t.Fatalf("the plan is %v", plan)
	}
	rig.Refuse(s, plan.Actions[0], field.Problem{Reason: "DeletionFailed", Message: "no"})
	for range 10 {
		plan, n = deletes()
		if n != 0 || plan.RetryAfter <= 0 || plan.RetryAfter > 30*time.Second || plan.Problem == nil {
			t.Fatalf("the plan is %v", plan)
		}
		rig.Clock.Step(plan.RetryAfter)
		if plan, n = deletes(); n != 1 {
			t.Fatalf("it is not tried again: %v", plan)
		}
		rig.Refuse(s, plan.Actions[0], field.Problem{Reason: "DeletionFailed", Message: "no"})
	}
}

// TestRefusedMarkIsToldAndWaits checks that requests that the consumer refuses are reported, too.
func TestRefusedMarkIsToldAndWaits(t *testing.T) {
	p, rig := planner()
	s := fixture.Observed(fixture.Local(), nil)
	plan := run(p, rig, s)
	if len(plan.Actions) != 1 || plan.Actions[0].Side != decide.Local {
		t.Fatalf("the plan is %v", plan)
	}
	rig.Refuse(s, plan.Actions[0], field.Problem{Reason: "UpdateRejected", Message: "no"})
	plan = run(p, rig, s)
	if len(plan.Actions) != 0 || plan.Problem == nil || plan.Problem.Message != "no" || plan.RetryAfter <= 0 {
		t.Errorf("the plan is %v", plan)
	}
}

// planned is a Syncer that returns this plan for an object that both clusters have.
type planned struct {
	decide.Syncer[*corev1.ConfigMap]
	plan decide.Plan
}

func (p planned) Sync(fixture.Snapshot) decide.Plan { return p.plan }

// TestUnkept checks that the fields of a status that the consumer does not keep are left alone until one of the
// two objects changes. The fields that it keeps are written.
func TestUnkept(t *testing.T) {
	p, rig := planner()
	seen := func(version string) *corev1.ConfigMap {
		return fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) { m.ResourceVersion = version })
	}
	status := func(version string) decide.Action {
		return decide.Action{Verb: decide.PatchStatus, Side: decide.Local, Before: seen(version), Object: fixture.Local(fixture.Sent, fixture.Data("a", "2"), func(m *corev1.ConfigMap) { m.ResourceVersion = version })}
	}
	actions := func(version string, made ...decide.AppliedAction) int {
		t.Helper()
		s := fixture.Observed(seen(version), fixture.Remote())
		p.Kind.Syncer = planned{fixture.Copies, decide.Plan{Actions: []decide.Action{status(version)}}}
		return len(run(p, rig, s, made...).Actions)
	}
	if got := actions("5"); got != 1 {
		t.Fatalf("%d are planned at first", got)
	}
	if got := actions("6", decide.AppliedAction{Action: status("5"), Response: seen("7")}); got != 1 {
		t.Errorf("%d are planned, though somebody else has written since", got)
	}
	if got := actions("6"); got != 1 {
		t.Errorf("%d are planned: what has taken effect counts as unkept", got)
	}
	if got := actions("6", decide.AppliedAction{Action: status("5"), Response: seen("6")}); got != 0 {
		t.Errorf("%d are planned again, without effect", got)
	}
	if got := actions("6"); got != 0 {
		t.Errorf("%d are planned in the next pass", got)
	}
	if rig.Attempts.AnyRefused() {
		t.Error("it counts as refused")
	}
	if got := actions("8"); got != 1 {
		t.Errorf("%d are planned after another change", got)
	}
}

// TestTakenBack checks that a change that the provider reverts counts as a refusal. A change of a leftover
// object there, or of an object in the consumer, does not.
func TestTakenBack(t *testing.T) {
	change := func(side decide.Side, version string) decide.Action {
		at := func(m *corev1.ConfigMap) { m.ResourceVersion = version }
		return decide.Action{Verb: decide.Patch, Side: side, Before: fixture.Remote(at), Object: fixture.Remote(fixture.Data("a", "2"), at)}
	}
	for name, test := range map[string]struct {
		side  decide.Side
		local *corev1.ConfigMap
		want  bool
	}{
		"in the provider": {decide.Remote, fixture.Local(fixture.Sent), true},
		"in the consumer": {decide.Local, fixture.Local(fixture.Sent), false},
	} {
		t.Run(name, func(t *testing.T) {
			p, rig := planner()
			p.Kind.Syncer = planned{fixture.Copies, decide.Plan{Actions: []decide.Action{change(test.side, "10")}}}
			answer := fixture.Remote(func(m *corev1.ConfigMap) { m.ResourceVersion = "10" })
			run(p, rig, fixture.Observed(test.local, answer), decide.AppliedAction{Action: change(test.side, "9"), Response: answer})
			if got := rig.Attempts.AnyRefused(); got != test.want {
				t.Errorf("refused: %t", got)
			}
			if !test.want {
				return
			}
			want := field.Problem{Reason: "UpdateRejected", Message: "provider eu accepts a change of team-home/settings, but does not keep it: a mutating policy or webhook there reverts it"}
			if diff := cmp.Diff(want, rig.Attempts.Get(decide.KeyOf(test.local)).Refusals.Of("5", "team-home", rig.Clock.Now()).Problem); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTooMuch checks that only actions that add to a provider count against its budget, and only for local
// objects that exist.
func TestTooMuch(t *testing.T) {
	for name, test := range map[string]struct {
		verb  decide.Verb
		side  decide.Side
		local *corev1.ConfigMap
		want  bool
	}{
		"a creation":                {decide.Create, decide.Remote, fixture.Local(), true},
		"a change":                  {decide.Patch, decide.Remote, fixture.Local(), true},
		"a deletion":                {decide.Delete, decide.Remote, fixture.Local(), false},
		"a change in the consumer":  {decide.Patch, decide.Local, fixture.Local(), false},
		"what is left there":        {decide.Patch, decide.Remote, nil, false},
		"a look":                    {decide.Find, decide.Remote, fixture.Local(), false},
		"a creation, in a consumer": {decide.Create, decide.Local, fixture.Local(), false},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := planner()
			p.Exceeds = func(_, _ client.Object) string { return "too much" }
			got := p.tooMuch(fixture.Observed(test.local, nil), decide.Action{Verb: test.verb, Side: test.side, Object: fixture.Remote()})
			if (got != nil) != test.want {
				t.Errorf("got %v", got)
			}
			p.Exceeds = nil
			if got := p.tooMuch(fixture.Observed(test.local, nil), decide.Action{Verb: test.verb, Side: test.side, Object: fixture.Remote()}); got != nil {
				t.Errorf("without a budget: %v", got)
			}
		})
	}
}
