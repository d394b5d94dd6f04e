package clusterbinding

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/events"

	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestRotation replaces credentials, and checks what is reported.
func TestRotation(t *testing.T) {
	recorder := events.NewFakeRecorder(9)
	r := &Reconciler{Events: recorder}
	observe := func(fingerprint string, phase connection.Phase) *observed {
		return &observed{fingerprint: fingerprint, snapshot: snapshot{
			Binding: builder.Binding("eu").Obj(), Connection: connection.State{Phase: phase},
			Validity: validity{What: "the token", Until: builder.Epoch},
		}}
	}
	tell := func(o *observed) string {
		r.reportRotation(o)
		select {
		case told := <-recorder.Events:
			return told
		default:
			return ""
		}
	}
	pass := func(fingerprint string, phase connection.Phase) string { return tell(observe(fingerprint, phase)) }
	for i, test := range []struct {
		fingerprint string
		phase       connection.Phase
		told        bool
	}{
		{"a", connection.Connected, false}, // the first
		{"a", connection.Disconnected, false},
		{"a", connection.Connected, false}, // the same again
		{"b", connection.Connecting, false},
		{"b", connection.Connected, true},
		{"b", connection.Connected, false},
		{"c", connection.Disconnected, false}, // refused
		{"b", connection.Connected, false},    // and taken back
	} {
		if told := pass(test.fingerprint, test.phase); (told != "") != test.told {
			t.Errorf("pass %d: told %q", i, told)
		} else if test.told && (!strings.Contains(told, reasonRotated) || !strings.Contains(told, builder.Epoch.UTC().Format(time.RFC3339))) {
			t.Errorf("pass %d: told %q", i, told)
		}
	}
	brief := observe("e", connection.Connected)
	brief.Validity.From = builder.Epoch.Add(-time.Hour)
	untried := observe("f", connection.Connected)
	untried.Connection.Untried = true
	for what, o := range map[string]*observed{"is renewed every hour": brief, "nobody has tried": untried} {
		if told := tell(o); told != "" {
			t.Errorf("of a token that %s it is told %q", what, told)
		}
	}
	r.accepted.Delete("eu")
	if told := pass("d", connection.Connected); told != "" {
		t.Errorf("of a binding that was made anew it is told %q", told)
	}
}
