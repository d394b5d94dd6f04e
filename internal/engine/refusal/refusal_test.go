package refusal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

var no = field.Problem{Reason: "Rejected", Message: "no"}

func action(verb decide.Verb, side decide.Side, in string) decide.Action {
	obj := fixture.Local()
	if side == decide.Remote {
		obj = fixture.Remote()
	}
	obj.Namespace = in
	return decide.Action{Verb: verb, Side: side, Object: obj}
}

func place(namespace string) decide.Destination {
	return decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: namespace}, Local: "team", Open: true}
}

// TestRecall checks that a refusal for one copy does not apply to another. A refusal of the protection
// applies to all.
func TestRecall(t *testing.T) {
	type refused struct{ here, other bool }
	for name, test := range map[string]struct {
		selection kind.Selection
		action    decide.Action
		want      refused
	}{
		"a copy here":      {kind.Referenced, action(decide.Create, decide.Remote, "team-home"), refused{here: true}},
		"a copy elsewhere": {kind.Referenced, action(decide.Create, decide.Remote, "mount"), refused{other: true}},
		"the pin":          {kind.Referenced, action(decide.Patch, decide.Local, "team"), refused{true, true}},
		"on the node":      {kind.OnVirtualNode, action(decide.Create, decide.Remote, "team-home"), refused{true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			rig := enginetest.New()
			rig.Kind.Selection = test.selection
			s := fixture.Observed(fixture.Local(), nil)
			s.RemoteStates = []decide.RemoteState[*corev1.ConfigMap]{{Destination: place("team-home")}, {Destination: place("mount")}}
			rig.Refusals.Note(s, test.action, no)
			rig.Refusals.Recall(&s)
			got := refused{s.RemoteStates[0].Refused != nil, s.RemoteStates[1].Refused != nil}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(refused{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNotify checks that owners are notified of a refused change or deletion of a copy, once per version.
func TestNotify(t *testing.T) {
	for name, test := range map[string]struct {
		selection kind.Selection
		verb      decide.Verb
		want      []string
	}{
		"a change":                               {kind.Referenced, decide.Patch, []string{"Rejected"}},
		"a deletion":                             {kind.Referenced, decide.Delete, []string{"Rejected"}},
		"a creation":                             {kind.Referenced, decide.Create, nil},
		"one on the node":                        {kind.OnVirtualNode, decide.Patch, nil},
		"one in a mapped namespace":              {kind.InMappedNamespace, decide.Patch, []string{"Rejected"}},
		"one there that nothing waits for, made": {kind.InMappedNamespace, decide.Create, []string{"Rejected"}},
	} {
		t.Run(name, func(t *testing.T) {
			rig := enginetest.New()
			rig.Kind.Selection = test.selection
			s := fixture.Observed(fixture.Local(), fixture.Remote())
			for range 3 {
				rig.Refusals.Note(s, action(test.verb, decide.Remote, "team-home"), no)
			}
			if diff := cmp.Diff(test.want, rig.Recorded()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			s.Local.ResourceVersion = "6"
			rig.Refusals.Note(s, action(test.verb, decide.Remote, "team-home"), no)
			if diff := cmp.Diff(test.want, rig.Recorded()); diff != "" {
				t.Errorf("recorded of another version (-want +got):\n%s", diff)
			}
		})
	}
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
			rig := enginetest.New()
			rig.Kind.Selection = test.selection
			s := fixture.Observed(fixture.Local(), fixture.Remote())
			rig.Refusals.Note(s, test.refused, no)
			rig.Clock.Step(test.after)
			if test.gone {
				s.Local = nil
			}
			planned := len(test.plan.Actions)
			got := rig.Refusals.Postpone(s, test.plan)
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

// TestWhatIsNoted checks that the refused request and the answer are noted.
func TestWhatIsNoted(t *testing.T) {
	rig := enginetest.New()
	s := fixture.Observed(fixture.Local(), fixture.Remote())
	a := action(decide.Patch, decide.Remote, "team-home")
	a.Subresource = "scale"
	rig.Refusals.Note(s, a, no)
	want := &decide.Refused{Problem: no, Verb: decide.Patch, Subresource: "scale", In: "team-home", Wait: 5 * time.Second}
	if diff := cmp.Diff(want, rig.Memory.Refusals.Of(s.Key, "5", "team-home")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOutdated checks that only a refused change of the copy in that namespace counts.
func TestOutdated(t *testing.T) {
	rig := enginetest.New()
	key := types.NamespacedName{Namespace: "team", Name: "settings"}
	s := fixture.Observed(fixture.Local(), fixture.Remote())
	if rig.Refusals.Any() || rig.Refusals.Outdated(key, "team-home") != nil {
		t.Error("nothing is refused")
	}
	rig.Refusals.Note(s, action(decide.Patch, decide.Remote, "team-home"), no)
	want := &field.Problem{Reason: "Rejected", Message: "with an outdated dependency: ConfigMap team/settings: no"}
	if diff := cmp.Diff(want, rig.Refusals.Outdated(key, "team-home")); diff != "" || !rig.Refusals.Any() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rig.Refusals.Outdated(key, "mount") != nil {
		t.Error("so is the copy elsewhere")
	}
	rig.Refusals.Note(s, action(decide.Create, decide.Remote, "mount"), no)
	want.Message = "without a dependency that cannot be sent: ConfigMap team/settings: no"
	if diff := cmp.Diff(want, rig.Refusals.Outdated(key, "mount")); diff != "" {
		t.Errorf("it is optional, and not there (-want +got):\n%s", diff)
	}
	rig.Kind.Selection = kind.OnVirtualNode
	if rig.Refusals.Any() {
		t.Error("nothing needs what is on the node")
	}
}

// TestIn checks which of the provider's namespaces an action is about.
func TestIn(t *testing.T) {
	rig := enginetest.New()
	if got := rig.Refusals.In(action(decide.Patch, decide.Remote, "team-home")); got != "team-home" {
		t.Errorf("got %q", got)
	}
	if got := rig.Refusals.In(action(decide.Patch, decide.Local, "team")); got != "" {
		t.Errorf("of the consumer: %q", got)
	}
	rig.Kind.Selection = kind.OnVirtualNode
	if got := rig.Refusals.In(action(decide.Patch, decide.Remote, "team-home")); got != "" {
		t.Errorf("of what is in one place: %q", got)
	}
}
