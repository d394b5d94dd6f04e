package act

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
)

func TestNoteAnswer(t *testing.T) {
	create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
	lost := errors.New("connection reset by peer")
	for name, test := range map[string]struct {
		action  decide.Action
		answers []error
		want    bool
	}{
		"made":                        {create, []error{nil}, false},
		"refused":                     {create, []error{apierrors.NewForbidden(enginetest.Resource, "settings", nil)}, false},
		"no answer":                   {create, []error{lost}, true},
		"no answer in time":           {create, []error{context.DeadlineExceeded}, true},
		"given up by the API server":  {create, []error{apierrors.NewTimeoutError("request did not complete", 0)}, true},
		"no answer, then refused":     {create, []error{lost, apierrors.NewForbidden(enginetest.Resource, "settings", nil)}, true},
		"no answer, then made":        {create, []error{lost, nil}, false},
		"no answer to something else": {decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote()}, []error{lost}, false},
		"no answer of the consumer":   {decide.Action{Verb: decide.Create, Side: decide.Local, Object: fixture.Local()}, []error{lost}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, rig := actor()
			m := rig.Attempts
			s := fixture.Observed(fixture.Local(), nil)
			for _, err := range test.answers {
				c.noteAnswer(s, test.action, err)
			}
			if got := m.Get(s.Key).Unanswered == s.Local.GetUID(); got != test.want {
				t.Errorf("it counts as unanswered: %v", got)
			}
			if m.Get(s.Key).Unanswered == "another" {
				t.Error("so does another one of its name")
			}
			m.Forget(s.Key)
			if m.Get(s.Key).Unanswered == s.Local.GetUID() {
				t.Error("it is remembered when it is gone")
			}
		})
	}
}

// TestTheProviderIsAskedOnce checks that the provider is asked once about an object that may exist. "No" is an
// answer, an error is not.
func TestTheProviderIsAskedOnce(t *testing.T) {
	broken := errors.New("connection reset by peer")
	for name, test := range map[string]struct{ err, want error }{
		"it is not there": {apierrors.NewNotFound(enginetest.Resource, "settings"), nil},
		"no answer again": {broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			c, rig := actor()
			m := rig.Attempts
			rig.Provider.Err = test.err
			s := fixture.Observed(fixture.Local(), nil)
			s.Unanswered = true
			m.Change(s.Key, func(r *attempts.Record) { r.Unanswered = s.Local.GetUID() })
			if err := c.find(t.Context(), s, fixture.Remote()); !errors.Is(err, test.want) {
				t.Errorf("got %v", err)
			}
			if got := m.Get(s.Key).Unanswered == s.Local.GetUID(); got != (test.want != nil) {
				t.Errorf("it counts as unanswered: %v", got)
			}
			if m.Get(s.Key).Lost == s.Local.GetUID() {
				t.Error("it counts as lost")
			}
		})
	}
}
