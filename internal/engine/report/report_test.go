package report_test

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
			rig.Refuse(s, test.action, no)
			rig.Recall(&s)
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
				rig.Refuse(s, action(test.verb, decide.Remote, "team-home"), no)
			}
			if diff := cmp.Diff(test.want, rig.Recorded()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			s.Local.ResourceVersion = "6"
			rig.Refuse(s, action(test.verb, decide.Remote, "team-home"), no)
			if diff := cmp.Diff(test.want, rig.Recorded()); diff != "" {
				t.Errorf("recorded of another version (-want +got):\n%s", diff)
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
	rig.Refuse(s, a, no)
	want := &decide.Refused{Problem: no, Verb: decide.Patch, Subresource: "scale", In: "team-home", Wait: 5 * time.Second}
	if diff := cmp.Diff(want, rig.Attempts.Get(s.Key).Refusals.Of("5", "team-home", rig.Clock.Now())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOutdated checks that only a refused change of the copy in that namespace counts.
func TestOutdated(t *testing.T) {
	rig := enginetest.New()
	key := types.NamespacedName{Namespace: "team", Name: "settings"}
	s := fixture.Observed(fixture.Local(), fixture.Remote())
	if rig.Reporter.AnyRefused() || rig.Reporter.Outdated(key, "team-home") != nil {
		t.Error("nothing is refused")
	}
	rig.Refuse(s, action(decide.Patch, decide.Remote, "team-home"), no)
	want := &field.Problem{Reason: "Rejected", Message: "with an outdated dependency: ConfigMap team/settings: no"}
	if diff := cmp.Diff(want, rig.Reporter.Outdated(key, "team-home")); diff != "" || !rig.Reporter.AnyRefused() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rig.Reporter.Outdated(key, "mount") != nil {
		t.Error("so is the copy elsewhere")
	}
	rig.Refuse(s, action(decide.Create, decide.Remote, "mount"), no)
	want.Message = "without a dependency that cannot be sent: ConfigMap team/settings: no"
	if diff := cmp.Diff(want, rig.Reporter.Outdated(key, "mount")); diff != "" {
		t.Errorf("it is optional, and not there (-want +got):\n%s", diff)
	}
	rig.Kind.Selection = kind.OnVirtualNode
	if rig.Reporter.AnyRefused() {
		t.Error("nothing needs what is on the node")
	}
}
