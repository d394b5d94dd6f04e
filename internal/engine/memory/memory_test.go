package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var web = types.NamespacedName{Namespace: "team", Name: "web"}

func testMemory() (*Memory, *testclock.FakeClock) {
	clock := testclock.NewFakeClock(builder.Epoch)
	return New(clock), clock
}

func TestRefusals(t *testing.T) {
	m, clock := testMemory()
	no := decide.Refused{Verb: decide.Create, Problem: field.Problem{Reason: "Rejected", Message: "no"}}
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
	expect("refused", "1", 5*time.Second, true)
	clock.Step(5 * time.Second)
	expect("due", "1", 0, true)
	m.Refusals.Note(web, "1", no)
	expect("refused again", "1", 10*time.Second, true)
	for range 10 {
		clock.Step(5 * time.Minute)
		m.Refusals.Note(web, "1", no)
	}
	expect("refused often", "1", 5*time.Minute, true)
	m.Succeeded(web, decide.Patch, "")
	expect("something else has succeeded", "1", 5*time.Minute, true)
	expect("the object has changed", "2", 0, false)
	m.Refusals.Note(web, "2", no)
	expect("refused in its new form", "2", 5*time.Second, true)
	m.Succeeded(web, decide.Create, "")
	expect("succeeded", "2", 0, false)
	m.Refusals.Note(web, "2", no)
	expect("refused after a success", "2", 5*time.Second, true)
	m.Forget(web)
	expect("gone", "2", 0, false)
	m.Refusals.Note(web, "2", no)
	expect("refused, another of its name", "2", 5*time.Second, true)
	m.Forget(web)

	no.Verb = decide.Patch
	m.Refusals.Note(web, "2", no)
	m.Succeeded(web, decide.Patch, "")
	expect("a change was accepted", "2", 0, false)
	m.Refusals.Note(web, "2", no)
	expect("and has been taken back, as before", "2", 10*time.Second, true)
}

func TestServerErrors(t *testing.T) {
	m, clock := testMemory()
	note := func(verb decide.Verb, text string) *decide.Refused {
		m.Refusals.Note(web, "1", decide.Refused{Verb: verb, Problem: field.Problem{Reason: v1alpha1.ReasonServerError, Message: text}})
		return m.Refusals.Of(web, "1", "")
	}
	for range 10 {
		_ = note(decide.Create, "from port 40001")
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
		if r, w := m.Waiting(web); r != reason || w != waited {
			t.Errorf("%s: %q for %v, want %q for %v", when, r, w, reason, waited)
		}
	}
	expect("at first", "", 0)
	m.Reconciled(web, &field.Problem{Reason: "A", Message: "because"})
	clock.Step(time.Second)
	m.Reconciled(web, &field.Problem{Reason: "A", Message: "because of something else"})
	expect("still", "A", time.Second)
	m.Reconciled(web, &field.Problem{Reason: "B", Message: "because"})
	expect("another problem", "B", 0)
	m.Reconciled(web, nil)
	expect("none", "", 0)
}

// TestRecord checks that each object has its own record, and that an empty record takes no memory.
func TestRecord(t *testing.T) {
	m, clock := testMemory()
	m.Change(web, func(r *Record) { r.Lost = "a" })
	m.Change(web, func(r *Record) { r.Unanswered = "b" })
	if got := m.Get(web); got != (Record{Lost: "a", Unanswered: "b"}) {
		t.Errorf("got %v", got)
	}
	if got := m.Get(types.NamespacedName{Namespace: "team", Name: "other"}); got != (Record{}) {
		t.Errorf("another one has %v", got)
	}
	m.Change(web, func(r *Record) { r.Lost, r.Unanswered = "", "" })
	m.Reconciled(web, &field.Problem{Reason: "A"})
	m.Reconciled(web, nil)
	m.RemoteChanged(web)
	m.RemoteReported(web, clock.Now())
	m.RemoteReported(web, clock.Now())
	if len(m.records) > 0 {
		t.Errorf("%d records say nothing", len(m.records))
	}
}

func TestRemoteChanges(t *testing.T) {
	m, clock := testMemory()
	expect := func(when string, want time.Time) {
		t.Helper()
		if got := m.Get(web).RemoteChangedAt; !got.Equal(want) {
			t.Errorf("%s: the change that is not shown yet is of %v, want %v", when, got, want)
		}
		m.Change(web, func(r *Record) { r.RemoteChangedAt = time.Time{} })
	}
	expect("at first", time.Time{})
	first := clock.Now()
	m.RemoteChanged(web)
	clock.Step(time.Second)
	m.RemoteChanged(web)
	expect("two changes", first)
	expect("after that was taken", time.Time{})

	m.RemoteChanged(web)
	m.RemoteReported(web, clock.Now())
	expect("after a pass with nothing to show", time.Time{})

	observed := clock.Now()
	clock.Step(time.Second)
	m.RemoteChanged(web)
	m.RemoteReported(web, observed)
	expect("a change that came in after the pass had looked", clock.Now())
}

// TestProblems checks that an event is due for a new problem, and for one that lasts.
func TestProblems(t *testing.T) {
	problems, now := &Problems{}, time.Unix(1e9, 0)
	for i, step := range []struct {
		after   time.Duration
		problem *field.Problem
		want    bool
	}{
		{0, nil, false},
		{RepeatEvent, &field.Problem{Reason: "A", Message: "because"}, true},
		{RepeatEvent - 1, &field.Problem{Reason: "A", Message: "because"}, false},
		{1, &field.Problem{Reason: "A", Message: "because"}, true},
		{1, &field.Problem{Reason: "A", Message: "because of something else"}, true},
		{RepeatEvent - 1, &field.Problem{Reason: "A", Message: "because of something else"}, false},
		{0, nil, false},
		{0, &field.Problem{Reason: "A", Message: "because of something else"}, true},
	} {
		now = now.Add(step.after)
		if got := problems.Note(web, step.problem, now); got != step.want {
			t.Errorf("step %d: an event is due: %t, want %t", i, got, step.want)
		}
	}
}

// TestForget checks that nothing remembered about an object applies to another object of its name.
func TestForget(t *testing.T) {
	m, clock := testMemory()
	other := types.NamespacedName{Namespace: "team", Name: "other"}
	refused := decide.Refused{Verb: decide.Create, Problem: field.Problem{Reason: "Rejected", Message: "no"}}
	for _, key := range []types.NamespacedName{web, other} {
		m.Refusals.Note(key, "1", refused)
		m.Conflicts.Note(key, clock.Now())
		m.ServerErrors.Note(key, clock.Now())
		m.Change(key, func(r *Record) { r.Lost = "a" })
		m.Change(key, func(r *Record) { r.Unanswered = "a" })
		m.Reconciled(key, &refused.Problem)
		m.RemoteChanged(key)
		m.Change(key, func(r *Record) {
			r.DroppedStatus = decide.AppliedAction{Action: decide.Action{Verb: decide.PatchStatus}}
		})
		for range 5 {
			m.Statuses.Wrote(key)
		}
		m.Sent.Note(key, "a")
	}
	remembered := func(key types.NamespacedName) map[string]bool {
		reason, _ := m.Waiting(key)
		later := clock.Now().Add(6 * time.Second)
		return map[string]bool{
			"refused": m.Refusals.Of(key, "1", "") != nil, "overtaken": m.Conflicts.Note(key, later), "failing": m.ServerErrors.Note(key, later),
			"lost": m.Get(key).Lost == "a", "unanswered": m.Get(key).Unanswered == "a", "waiting": reason != "", "unshown": !m.Get(key).RemoteChangedAt.IsZero(),
			"unkept": m.Get(key).DroppedStatus.Verb != "", "paced": m.Statuses.Wait(key) > 0, "sent": !m.Sent.objects[key].at.IsZero(),
		}
	}
	m.Forget(web)
	for what, is := range remembered(web) {
		if is {
			t.Errorf("it is remembered as %s", what)
		}
	}
	for what, is := range remembered(other) {
		if !is {
			t.Errorf("another one is not remembered as %s any more", what)
		}
	}
}

// TestSucceeded checks that a success clears the failures of the same action. Content that can be read may
// still be refused, and a status may report a failure.
func TestSucceeded(t *testing.T) {
	for verb, test := range map[decide.Verb]struct{ overtaken, failing, refused bool }{
		decide.Read:        {true, true, true},
		decide.PatchStatus: {false, true, true},
		decide.Patch:       {false, false, true},
		decide.Create:      {false, false, false},
	} {
		t.Run(string(verb), func(t *testing.T) {
			m, clock := testMemory()
			m.Conflicts.Note(web, clock.Now())
			m.ServerErrors.Note(web, clock.Now())
			m.Refusals.Note(web, "1", decide.Refused{Verb: decide.Create, Problem: field.Problem{Reason: "Rejected"}})
			m.Succeeded(web, verb, "")
			later := clock.Now().Add(6 * time.Second)
			if got := m.Conflicts.Note(web, later); got != test.overtaken {
				t.Errorf("overtaken: %t", got)
			}
			if got := m.ServerErrors.Note(web, later); got != test.failing {
				t.Errorf("failing: %t", got)
			}
			if got := m.Refusals.Has(web); got != test.refused {
				t.Errorf("refused: %t", got)
			}
		})
	}
}

// TestRefusalsOfCopies checks that each namespace with a copy has its own refusals.
func TestRefusalsOfCopies(t *testing.T) {
	m, clock := testMemory()
	if m.Refusals.Any() || m.Refusals.Has(web) || m.Refusals.OfCopy(web, "a") != nil {
		t.Error("nothing was refused")
	}
	note := func(verb decide.Verb, in string) bool {
		return m.Refusals.Note(web, "1", decide.Refused{Verb: verb, In: in, Problem: field.Problem{Reason: "Rejected", Message: "in " + in}})
	}
	if !note(decide.Patch, "a") || !note(decide.Create, "b") {
		t.Error("a first refusal is no news")
	}
	if note(decide.Patch, "a") || !note(decide.Delete, "a") || !note(decide.Patch, "a") {
		t.Error("the same is news, or something else is none")
	}
	if !m.Refusals.Any() || !m.Refusals.Has(web) {
		t.Error("nothing is refused")
	}
	if got := m.Refusals.OfCopy(web, "a"); got == nil || got.Message != "in a" {
		t.Errorf("the change in a: %v", got)
	}
	if got := m.Refusals.OfCopy(web, "b"); got == nil || got.Message != "in b" {
		t.Errorf("the creation in b: %v", got)
	}
	if got := m.Refusals.OfCopy(web, "c"); got != nil {
		t.Errorf("in c nothing is refused: %v", got)
	}
	m.Succeeded(web, decide.Patch, "c") // Nothing was refused in that namespace.
	m.Succeeded(web, decide.Patch, "a")
	if m.Refusals.Of(web, "1", "a") != nil || m.Refusals.Of(web, "1", "b") == nil {
		t.Error("a success in a says something of b, or nothing of a")
	}
	if got := m.Refusals.Of(web, "1", "b").Wait; got != 5*time.Second {
		t.Errorf("b waits for %s", got)
	}
	note(decide.Patch, "") // Of the protection.
	if got := m.Refusals.OfCopy(web, "c"); got == nil || got.In != "" {
		t.Errorf("the change of all: %v", got)
	}
	clock.Step(time.Hour)
	if got := m.Refusals.Of(web, "1", "b").Wait; got != 0 {
		t.Errorf("b is due, and waits for %s", got)
	}
	m.Forget(web)
	if m.Refusals.Any() || m.Refusals.Has(web) {
		t.Error("something is refused of what is gone")
	}
}

// TestWaitOfADeletion checks that a refused deletion is retried within half a minute: nothing says when it
// would succeed.
func TestWaitOfADeletion(t *testing.T) {
	m, clock := testMemory()
	for range 10 {
		m.Refusals.Note(web, "1", decide.Refused{Verb: decide.Delete, Problem: field.Problem{Reason: "DeletionFailed", Message: "no"}})
		clock.Step(time.Second)
	}
	if got := m.Refusals.Of(web, "1", "").Wait; got != 29*time.Second {
		t.Errorf("it waits for %s more", got)
	}
}

// TestStatuses checks that five statuses are written at once, then one a second.
func TestStatuses(t *testing.T) {
	m, _ := testMemory()
	for i := range 5 {
		if got := m.Statuses.Wait(web); got != 0 {
			t.Errorf("number %d waits for %s", i, got)
		}
		m.Statuses.Wrote(web)
	}
	if got := m.Statuses.Wait(web); got != time.Second {
		t.Errorf("the next waits for %s", got)
	}
}

// TestNews checks that a refusal is new if it differs in more than a number. The latest text is kept, except
// for refusals that may pass, which are not reported again.
func TestNews(t *testing.T) {
	first := decide.Refused{Verb: decide.Patch, Subresource: "resize", Problem: field.Problem{Reason: "Rejected", Message: "the quota is 10"}}
	for name, test := range map[string]struct {
		version string
		change  func(*decide.Refused)
		want    bool
		message string
	}{
		"the same":            {"1", func(*decide.Refused) {}, false, "the quota is 10"},
		"with another number": {"1", func(r *decide.Refused) { r.Message = "the quota is 11" }, false, "the quota is 11"},
		"another text":        {"1", func(r *decide.Refused) { r.Message = "no" }, true, "no"},
		"another reason":      {"1", func(r *decide.Refused) { r.Reason = "UpdateRejected" }, true, "the quota is 10"},
		"another part":        {"1", func(r *decide.Refused) { r.Subresource = "" }, true, "the quota is 10"},
		"another verb":        {"1", func(r *decide.Refused) { r.Verb = decide.Create }, true, "the quota is 10"},
		"of another version":  {"2", func(*decide.Refused) {}, true, "the quota is 10"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := testMemory()
			m.Refusals.Note(web, "1", first)
			next := first
			test.change(&next)
			if got := m.Refusals.Note(web, test.version, next); got != test.want {
				t.Errorf("news: %t", got)
			}
			if got := m.Refusals.Of(web, test.version, ""); got == nil || got.Message != test.message {
				t.Errorf("it says %v", got)
			}
			m.Succeeded(web, next.Verb, "")
			if m.Refusals.Any() || m.Refusals.Has(web) {
				t.Error("it is remembered after a success")
			}
		})
	}
}
