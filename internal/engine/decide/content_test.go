package decide_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
)

// TestContentIsReadToBeSent checks that content is read only in order to send it.
func TestContentIsReadToBeSent(t *testing.T) {
	labelled := func(m *corev1.ConfigMap) { m.Labels = decide.With(m.Labels, "tier", "web") }
	changed := fixture.Data("a", "2")
	for name, test := range map[string]struct {
		snapshot fixture.Snapshot
		want     decide.Verb // "" for no action.
	}{
		"it is to be created":              {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent)), nil), decide.Read},
		"it has been read":                 {fixture.Wanted(fixture.Local(fixture.Sent), nil), decide.Create},
		"it has no content":                {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent, fixture.Data())), nil), decide.Create},
		"it is to be marked first":         {fixture.Wanted(fixture.Held(fixture.Local(labelled)), nil), decide.Patch},
		"the copy has the same":            {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent)), fixture.Held(fixture.Remote())), ""},
		"the copy has something else":      {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent, changed)), fixture.Held(fixture.Remote())), decide.Read},
		"that has been read":               {fixture.Wanted(fixture.Local(fixture.Sent, changed), fixture.Held(fixture.Remote())), decide.Patch},
		"the copy is to have none":         {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent, fixture.Data())), fixture.Held(fixture.Remote())), decide.Patch},
		"a label of the copy is missing":   {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent, labelled)), fixture.Held(fixture.Remote())), decide.Patch},
		"nothing needs it any more":        {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent, changed)), fixture.Held(fixture.Remote()), fixture.Unwanted), decide.Delete},
		"its owner keeps it from now on":   {fixture.Wanted(fixture.Held(fixture.Local(fixture.Sent, changed, fixture.KeptHome)), fixture.Held(fixture.Remote())), decide.Delete},
		"the copy is that of an older one": {fixture.Wanted(nil, fixture.Held(fixture.Remote())), decide.Delete},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decide.WithContent(fixture.Of(test.snapshot), decide.Next(fixture.Of(test.snapshot), fixture.Copies))
			var got decide.Verb
			if len(plan.Actions) > 0 {
				got = plan.Actions[0].Verb
			}
			if got != test.want || len(plan.Actions) > 1 {
				t.Errorf("got %v, want to %q", plan.Actions, test.want)
			}
		})
	}
}
