package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var web = types.NamespacedName{Namespace: "team", Name: "web"}

func testMemory() (*Memory, *testclock.FakeClock) {
	clock := testclock.NewFakeClock(builder.Epoch)
	return New(clock), clock
}

func TestRefusals(t *testing.T) {
	m, clock := testMemory()
	no := decide.Refused{Verb: decide.Create, Problem: decide.Problem{Reason: "Rejected", Message: "no"}}
	expect := func(when, version string, waits time.Duration, there bool) {
		t.Helper()
		var want *decide.Refused
		if there {
			want = &decide.Refused{Verb: no.Verb, Problem: no.Problem, Wait: waits}
		}
		if diff := cmp.Diff(want, m.Refusals.Of(web, version, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expect("at first", "1", 0, false)
	m.Refusals.Note(web, "1", no)
	expect("refused", "1", FirstRetry, true)
	clock.Step(FirstRetry)
	expect("due", "1", 0, true)
	m.Refusals.Note(web, "1", no)
	expect("refused again", "1", 2*FirstRetry, true)
	for range 10 {
		clock.Step(mostRetry)
		m.Refusals.Note(web, "1", no)
	}
	expect("refused often", "1", mostRetry, true)
	m.Succeeded(web, decide.Patch, "")
	expect("something else has succeeded", "1", mostRetry, true)
	expect("the object has changed", "2", 0, false)
	m.Refusals.Note(web, "2", no)
	expect("refused in its new form", "2", FirstRetry, true)
	m.Succeeded(web, decide.Create, "")
	expect("succeeded", "2", 0, false)
	m.Refusals.Note(web, "2", no)
	m.Forget(web)
	expect("gone", "2", 0, false)

	no.Verb = decide.Patch
	m.Refusals.Note(web, "2", no)
	m.Succeeded(web, decide.Patch, "")
	expect("a change was accepted", "2", 0, false)
	m.Refusals.Note(web, "2", no)
	expect("and has been taken back, as before", "2", 2*FirstRetry, true)
}

func TestServerErrors(t *testing.T) {
	m, clock := testMemory()
	note := func(verb decide.Verb, text string) *decide.Refused {
		m.Refusals.Note(web, "1", decide.Refused{Verb: verb, Problem: decide.Problem{Reason: v1alpha1.ReasonServerError, Message: text}})
		return m.Refusals.Of(web, "1", "")
	}
	for range 10 {
		note(decide.Create, "from port 40001")
		got := note(decide.Create, "from port 40002")
		if got.Message != "from port 40001" {
			t.Errorf("its text has changed: %q", got.Message)
		}
		if got.Wait > 30*time.Second {
			t.Errorf("it waits for %v, and nothing will say that it is over", got.Wait)
		}
		clock.Step(got.Wait / 2)
		if rest := m.Refusals.Of(web, "1", "").Wait; rest > got.Wait/2+time.Nanosecond {
			t.Errorf("it waits for %v more after half of %v", rest, got.Wait)
		}
		clock.Step(got.Wait)
	}
	if got := note(decide.Create, "for another reason"); got.Message != "for another reason" {
		t.Errorf("got %q", got.Message)
	}
	if got := note(decide.Patch, "for another reason, 2"); got.Message != "for another reason, 2" {
		t.Errorf("got %q", got.Message)
	}
}

func TestWaiting(t *testing.T) {
	m, clock := testMemory()
	expect := func(when, reason string, waited time.Duration) {
		t.Helper()
		if r, w := m.Waiting.Since(web); r != reason || w != waited {
			t.Errorf("%s: %q for %v, want %q for %v", when, r, w, reason, waited)
		}
	}
	expect("at first", "", 0)
	m.Waiting.Note(web, &decide.Problem{Reason: "A", Message: "because"})
	clock.Step(time.Second)
	m.Waiting.Note(web, &decide.Problem{Reason: "A", Message: "because of something else"})
	expect("still", "A", time.Second)
	m.Waiting.Note(web, &decide.Problem{Reason: "B", Message: "because"})
	expect("another problem", "B", 0)
	m.Waiting.Note(web, nil)
	expect("none", "", 0)
}

func TestLost(t *testing.T) {
	m, _ := testMemory()
	if m.Lost.Is(web, "a") {
		t.Error("lost before anybody has looked")
	}
	m.Lost.Set(web, "a")
	if !m.Lost.Is(web, "a") || m.Lost.Is(web, "b") {
		t.Error("another pod of its name is lost, or this one is not")
	}
}

func TestRemoteChanges(t *testing.T) {
	m, clock := testMemory()
	expect := func(when string, want time.Time) {
		t.Helper()
		if got := m.Unshown.Take(web); !got.Equal(want) {
			t.Errorf("%s: the change that is not shown yet is of %v, want %v", when, got, want)
		}
	}
	expect("at first", time.Time{})
	first := clock.Now()
	m.Unshown.Note(web)
	clock.Step(time.Second)
	m.Unshown.Note(web)
	expect("two changes", first)
	expect("after that was taken", time.Time{})

	m.Unshown.Note(web)
	m.Unshown.Shown(web, clock.Now())
	expect("after a pass with nothing to show", time.Time{})

	observed := clock.Now()
	clock.Step(time.Second)
	m.Unshown.Note(web)
	m.Unshown.Shown(web, observed)
	expect("a change that came in after the pass had looked", clock.Now())
}

// TestPending is about a pass that was broken off after the API server had done
// what it was asked for: that is still to be told, even of what is gone since.
func TestPending(t *testing.T) {
	m, _ := testMemory()
	key := types.NamespacedName{Namespace: "team", Name: "settings"}
	if m.Pending.Get(key) {
		t.Error("nothing has happened, and is to be told")
	}
	m.Pending.Set(key, true)
	m.Forget(key)
	if !m.Pending.Get(key) {
		t.Error("what has happened is forgotten before it was told")
	}
	m.Pending.Drop(key)
	if m.Pending.Get(key) {
		t.Error("what was told is to be told again")
	}
}

// TestProblems: a change is another problem, or the end of one.
func TestProblems(t *testing.T) {
	m, _ := testMemory()
	for i, step := range []struct {
		problem *decide.Problem
		want    bool
	}{
		{nil, false},
		{&decide.Problem{Reason: "A", Message: "because"}, true},
		{&decide.Problem{Reason: "A", Message: "because"}, false},
		{&decide.Problem{Reason: "A", Message: "because of something else"}, true},
		{nil, true},
		{nil, false},
		{&decide.Problem{Reason: "A", Message: "because of something else"}, true},
	} {
		if got := m.Problems.Change(web, step.problem); got != step.want {
			t.Errorf("step %d: changed is %t, want %t", i, got, step.want)
		}
	}
}
