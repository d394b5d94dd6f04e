package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

func TestAnswered(t *testing.T) {
	answer := func(side decide.Side, version string, uid types.UID) decide.AppliedAction {
		return decide.AppliedAction{Action: decide.Action{Side: side}, Response: fixture.Local(func(m *corev1.ConfigMap) { m.ResourceVersion, m.UID = version, uid })}
	}
	for name, test := range map[string]struct {
		made []decide.AppliedAction
		want string // The version of the result. "" means the object that was seen.
	}{
		"nothing":                   {nil, ""},
		"it is as it was seen":      {[]decide.AppliedAction{answer(decide.Local, "5", "local-1")}, "5"},
		"it is newer":               {[]decide.AppliedAction{answer(decide.Local, "7", "local-1")}, "7"},
		"the last one":              {[]decide.AppliedAction{answer(decide.Local, "5", "local-1"), answer(decide.Local, "6", "local-1")}, "6"},
		"it has changed since":      {[]decide.AppliedAction{answer(decide.Local, "4", "local-1")}, ""},
		"it is another one":         {[]decide.AppliedAction{answer(decide.Local, "7", "local-2")}, ""},
		"it is the copy":            {[]decide.AppliedAction{answer(decide.Remote, "7", "local-1")}, ""},
		"the copy was made since":   {[]decide.AppliedAction{answer(decide.Local, "6", "local-1"), answer(decide.Remote, "9", "remote-1")}, "6"},
		"something of another kind": {[]decide.AppliedAction{{Action: decide.Action{Side: decide.Local}, Response: &corev1.Secret{}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			seen := fixture.Held(fixture.Local())
			got := answered(seen, test.made)
			if test.want == "" && got != seen || test.want != "" && (got.ResourceVersion != test.want || field.LacksContent(nil, got)) {
				t.Errorf("got version %s with %v", got.ResourceVersion, got.Data)
			}
		})
	}
}
