package decide_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/translate"
)

// held is a ConfigMap as the caches hold it.
func held(m *corev1.ConfigMap) *corev1.ConfigMap {
	return translate.WithoutContent(m).(*corev1.ConfigMap)
}

// TestContentIsReadToBeSent: and for nothing else.
func TestContentIsReadToBeSent(t *testing.T) {
	labelled := func(m *corev1.ConfigMap) { m.Labels = decide.With(m.Labels, "tier", "web") }
	changed := fixture.Data("a", "2")
	for name, test := range map[string]struct {
		snapshot fixture.Snapshot
		want     decide.Verb // "" for nothing.
	}{
		"it is to be created":              {fixture.Wanted(held(fixture.Local(fixture.Sent)), nil), decide.Read},
		"it has been read":                 {fixture.Wanted(fixture.Local(fixture.Sent), nil), decide.Create},
		"it has no content":                {fixture.Wanted(held(fixture.Local(fixture.Sent, fixture.Data())), nil), decide.Create},
		"it is to be marked first":         {fixture.Wanted(held(fixture.Local(labelled)), nil), decide.Patch},
		"the copy has the same":            {fixture.Wanted(held(fixture.Local(fixture.Sent)), held(fixture.Remote())), ""},
		"the copy has something else":      {fixture.Wanted(held(fixture.Local(fixture.Sent, changed)), held(fixture.Remote())), decide.Read},
		"that has been read":               {fixture.Wanted(fixture.Local(fixture.Sent, changed), held(fixture.Remote())), decide.Patch},
		"the copy is to have none":         {fixture.Wanted(held(fixture.Local(fixture.Sent, fixture.Data())), held(fixture.Remote())), decide.Patch},
		"a label of the copy is missing":   {fixture.Wanted(held(fixture.Local(fixture.Sent, labelled)), held(fixture.Remote())), decide.Patch},
		"nothing needs it any more":        {fixture.Wanted(held(fixture.Local(fixture.Sent, changed)), held(fixture.Remote()), fixture.Unwanted), decide.Delete},
		"its owner keeps it from now on":   {fixture.Wanted(held(fixture.Local(fixture.Sent, changed, fixture.KeptHome)), held(fixture.Remote())), decide.Delete},
		"the copy is that of an older one": {fixture.Wanted(nil, held(fixture.Remote())), decide.Delete},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decide.WithContent(test.snapshot, decide.Next(test.snapshot, fixture.Copies))
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
