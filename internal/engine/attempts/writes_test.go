package attempts

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestWrites checks that only a repeated action waits, longer each time.
func TestWrites(t *testing.T) {
	patch := func(value string) decide.Action {
		return decide.Action{Verb: decide.Patch, Side: decide.Remote, Before: fixture.Remote(), Object: fixture.Remote(fixture.Data("a", value))}
	}
	create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
	elsewhere := create
	elsewhere.Object = fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace = "elsewhere" })
	pin := decide.Action{Verb: decide.Patch, Side: decide.Local, Before: fixture.Local(), Object: fixture.Local(fixture.Sent)}
	successor := fixture.Local(func(m *corev1.ConfigMap) { m.UID = "another" })
	pinned := fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) { m.UID = "another" })
	removed := decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}
	relabelled := decide.Action{Verb: decide.Find, Side: decide.Remote, Object: fixture.Remote()}
	status := decide.Action{Verb: decide.PatchStatus, Side: decide.Local, Before: fixture.Local(), Object: fixture.Local(fixture.Sent)}
	for name, test := range map[string]struct {
		done []decide.Action // Each as soon as it may run.
		next decide.Action
		wait time.Duration
	}{
		"the first":                   {nil, patch("2"), 0},
		"once more":                   {[]decide.Action{patch("2")}, patch("2"), time.Second},
		"again and again":             {[]decide.Action{patch("2"), patch("2"), patch("2")}, patch("2"), 4 * time.Second},
		"another change":              {[]decide.Action{patch("2"), patch("2")}, patch("3"), 0},
		"back and forth":              {[]decide.Action{patch("2"), patch("3"), patch("2")}, patch("3"), 0},
		"a pin":                       {[]decide.Action{pin, pin}, pin, 2 * time.Second},
		"a pin of its successor":      {[]decide.Action{pin, pin}, decide.Action{Verb: decide.Patch, Side: decide.Local, Before: successor, Object: pinned}, 0},
		"a pin, after a change there": {[]decide.Action{patch("2"), patch("2")}, pin, 0},
		"a copy is made again":        {[]decide.Action{create, create}, create, 2 * time.Second},
		"another copy":                {[]decide.Action{create, create}, elsewhere, 0},
		"a copy that we have deleted": {[]decide.Action{create, create, removed}, create, 0},
		"labels are put back":         {[]decide.Action{relabelled, relabelled}, relabelled, 2 * time.Second},
		"what a copy tells":           {[]decide.Action{status, status}, status, 2 * time.Second},
		"that, after a pin":           {[]decide.Action{pin, pin}, status, 0},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakeClock(builder.Epoch)
			var writes Writes
			for _, a := range test.done {
				wait, _ := writes.Wait(a, clock.Now())
				clock.Step(wait)
				writes.Add(a, clock.Now())
			}
			if wait, _ := writes.Wait(test.next, clock.Now()); wait != test.wait {
				t.Errorf("it waits for %s, want %s", wait, test.wait)
			}
			writes.withdraw()
			if wait, _ := writes.Wait(test.next, clock.Now()); test.next.Verb == decide.Create && wait != 0 || test.next.Verb != decide.Create && wait != test.wait {
				t.Errorf("after the consumer had its copies go: %s", wait)
			}
		})
	}
}
