package attempts

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

func testAttempts() (*Attempts, *testclock.FakeClock) {
	clock := testclock.NewFakeClock(builder.Epoch)
	return New(clock), clock
}

// conflict and serverError add to a streak, and report whether it is endless.
func conflict(a *Attempts, key types.NamespacedName, now time.Time) (isEndless bool) {
	a.Change(key, func(r *Record) { isEndless = r.Conflicts.Conflict(now) })
	return isEndless
}

func serverError(a *Attempts, key types.NamespacedName, now time.Time) (isEndless bool) {
	a.Change(key, func(r *Record) { isEndless = r.ServerErrors.ServerError(now) })
	return isEndless
}

func TestRefusals(t *testing.T) {
	a, clock := testAttempts()
	no := decide.Refused{Verb: decide.Create, Problem: field.Problem{Reason: "Rejected", Message: "no"}}
	expect := func(when, version string, waits time.Duration, there bool) {
		t.Helper()
		var want *decide.Refused
		if there {
			want = &decide.Refused{Verb: no.Verb, Problem: no.Problem, Wait: waits}
		}
		if diff := cmp.Diff(want, a.Get(web).Refusals.Of(version, "", clock.Now())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expect("at first", "1", 0, false)
	a.Refuse(web, "1", no)
	expect("refused", "1", 5*time.Second, true)
	clock.Step(5 * time.Second)
	expect("due", "1", 0, true)
	a.Refuse(web, "1", no)
	expect("refused again", "1", 10*time.Second, true)
	for range 10 {
		clock.Step(5 * time.Minute)
		a.Refuse(web, "1", no)
	}
	expect("refused often", "1", 5*time.Minute, true)
	a.Succeeded(web, decide.Patch, "")
	expect("something else has succeeded", "1", 5*time.Minute, true)
	expect("the object has changed", "2", 0, false)
	a.Refuse(web, "2", no)
	expect("refused in its new form", "2", 5*time.Second, true)
	a.Succeeded(web, decide.Create, "")
	expect("succeeded", "2", 0, false)
	a.Refuse(web, "2", no)
	expect("refused after a success", "2", 5*time.Second, true)
	a.Forget(web)
	expect("gone", "2", 0, false)
	a.Refuse(web, "2", no)
	expect("refused, another of its name", "2", 5*time.Second, true)
	a.Forget(web)

	no.Verb = decide.Patch
	a.Refuse(web, "2", no)
	a.Succeeded(web, decide.Patch, "")
	expect("a change was accepted", "2", 0, false)
	a.Refuse(web, "2", no)
	expect("and has been taken back, as before", "2", 10*time.Second, true)
	a.Succeeded(web, decide.Patch, "")
	a.Reconciled(web, Reconciled{Version: "3"})
	a.Refuse(web, "3", no)
	expect("and again, in a newer version", "3", 20*time.Second, true)
}

func TestServerErrors(t *testing.T) {
	a, clock := testAttempts()
	note := func(verb decide.Verb, text string) *decide.Refused {
		a.Refuse(web, "1", decide.Refused{Verb: verb, Problem: field.Problem{Reason: v1alpha1.ReasonServerError, Message: text}})
		return a.Get(web).Refusals.Of("1", "", clock.Now())
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
		if rest := a.Get(web).Refusals.Of("1", "", clock.Now()).Wait; rest > got.Wait/2+time.Nanosecond {
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
	a, clock := testAttempts()
	expect := func(when, reason string, waited time.Duration) {
		t.Helper()
		record := a.Get(web)
		if r, w := record.Waiting(clock.Now()); r != reason || w != waited {
			t.Errorf("%s: %q for %v, want %q for %v", when, r, w, reason, waited)
		}
	}
	expect("at first", "", 0)
	a.Reconciled(web, Reconciled{Problem: &field.Problem{Reason: "A", Message: "because"}})
	clock.Step(time.Second)
	a.Reconciled(web, Reconciled{Problem: &field.Problem{Reason: "A", Message: "because of something else"}})
	expect("still", "A", time.Second)
	a.Reconciled(web, Reconciled{Problem: &field.Problem{Reason: "B", Message: "because"}})
	expect("another problem", "B", 0)
	a.Reconciled(web, Reconciled{})
	expect("none", "", 0)
}

// TestRecord checks that each object has its own record, and that an empty record takes no memory.
func TestRecord(t *testing.T) {
	a, clock := testAttempts()
	a.Change(web, func(r *Record) { r.Lost = "a" })
	a.Change(web, func(r *Record) { r.Unanswered = "b" })
	if got := a.Get(web); got.Lost != "a" || got.Unanswered != "b" {
		t.Errorf("got %v", got)
	}
	if got := a.Get(types.NamespacedName{Namespace: "team", Name: "other"}); !got.isEmpty() {
		t.Errorf("another one has %v", got)
	}
	a.Change(web, func(r *Record) { r.Lost, r.Unanswered = "", "" })
	a.Reconciled(web, Reconciled{Problem: &field.Problem{Reason: "A"}})
	a.Reconciled(web, Reconciled{})
	a.RemoteChanged(web)
	a.Reconciled(web, Reconciled{Observed: clock.Now()})
	a.Reconciled(web, Reconciled{Observed: clock.Now()})
	if len(a.records) > 0 {
		t.Errorf("%d records say nothing", len(a.records))
	}
}

func TestRemoteChanges(t *testing.T) {
	a, clock := testAttempts()
	expect := func(when string, want time.Time) {
		t.Helper()
		if got := a.Get(web).RemoteChangedAt; !got.Equal(want) {
			t.Errorf("%s: the change that is not shown yet is of %v, want %v", when, got, want)
		}
		a.Change(web, func(r *Record) { r.RemoteChangedAt = time.Time{} })
	}
	expect("at first", time.Time{})
	first := clock.Now()
	a.RemoteChanged(web)
	clock.Step(time.Second)
	a.RemoteChanged(web)
	expect("two changes", first)
	expect("after that was taken", time.Time{})

	a.RemoteChanged(web)
	a.Reconciled(web, Reconciled{Observed: clock.Now()})
	expect("after a pass with nothing to show", time.Time{})

	observed := clock.Now()
	clock.Step(time.Second)
	a.RemoteChanged(web)
	a.Reconciled(web, Reconciled{Observed: observed})
	expect("a change that came in after the pass had looked", clock.Now())
}

// TestForget checks that nothing remembered about an object applies to another object of its name.
func TestForget(t *testing.T) {
	a, clock := testAttempts()
	other := types.NamespacedName{Namespace: "team", Name: "other"}
	refused := decide.Refused{Verb: decide.Create, Problem: field.Problem{Reason: "Rejected", Message: "no"}}
	for _, key := range []types.NamespacedName{web, other} {
		a.Refuse(key, "1", refused)
		conflict(a, key, clock.Now())
		serverError(a, key, clock.Now())
		a.Change(key, func(r *Record) { r.Lost = "a" })
		a.Change(key, func(r *Record) { r.Unanswered = "a" })
		a.Reconciled(key, Reconciled{Problem: &refused.Problem, IsPending: true})
		a.RemoteChanged(key)
		a.Change(key, func(r *Record) {
			r.DroppedStatus = &decide.AppliedAction{Action: decide.Action{Verb: decide.PatchStatus}}
		})
		for range 5 {
			a.Change(key, func(r *Record) { r.StatusesUsed = Statuses.Wrote(r.StatusesUsed, clock.Now()) })
		}
		a.Sent.Note(key, "a")
	}
	remembered := func(key types.NamespacedName) map[string]bool {
		record := a.Get(key)
		reason, _ := record.Waiting(clock.Now())
		later := clock.Now().Add(6 * time.Second)
		return map[string]bool{
			"refused": record.Refusals.Any(), "overtaken": conflict(a, key, later), "failing": serverError(a, key, later),
			"lost": record.Lost == "a", "unanswered": record.Unanswered == "a", "waiting": reason != "", "unshown": !record.RemoteChangedAt.IsZero(),
			"unkept": record.DroppedStatus != nil, "paced": Statuses.Wait(record.StatusesUsed, clock.Now()) > 0, "sent": !a.Sent.objects[key].at.IsZero(),
		}
	}
	a.Forget(web)
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
			a, clock := testAttempts()
			conflict(a, web, clock.Now())
			serverError(a, web, clock.Now())
			a.Refuse(web, "1", decide.Refused{Verb: decide.Create, Problem: field.Problem{Reason: "Rejected"}})
			a.Succeeded(web, verb, "")
			later := clock.Now().Add(6 * time.Second)
			if got := conflict(a, web, later); got != test.overtaken {
				t.Errorf("overtaken: %t", got)
			}
			if got := serverError(a, web, later); got != test.failing {
				t.Errorf("failing: %t", got)
			}
			if got := a.Get(web).Refusals.Any(); got != test.refused {
				t.Errorf("refused: %t", got)
			}
		})
	}
}

// TestRefusalsOfCopies checks that each namespace with a copy has its own refusals.
func TestRefusalsOfCopies(t *testing.T) {
	a, clock := testAttempts()
	if a.AnyRefused() || a.Get(web).Refusals.Any() || a.Get(web).Refusals.OfCopy("a") != nil {
		t.Error("nothing was refused")
	}
	note := func(verb decide.Verb, in string) bool {
		return a.Refuse(web, "1", decide.Refused{Verb: verb, In: in, Problem: field.Problem{Reason: "Rejected", Message: "in " + in}})
	}
	if !note(decide.Patch, "a") || !note(decide.Create, "b") {
		t.Error("a first refusal is no news")
	}
	if note(decide.Patch, "a") || !note(decide.Delete, "a") || !note(decide.Patch, "a") {
		t.Error("the same is news, or something else is none")
	}
	if !a.AnyRefused() || !a.Get(web).Refusals.Any() {
		t.Error("nothing is refused")
	}
	if got := a.Get(web).Refusals.OfCopy("a"); got == nil || got.Message != "in a" {
		t.Errorf("the change in a: %v", got)
	}
	if got := a.Get(web).Refusals.OfCopy("b"); got == nil || got.Message != "in b" {
		t.Errorf("the creation in b: %v", got)
	}
	if got := a.Get(web).Refusals.OfCopy("c"); got != nil {
		t.Errorf("in c nothing is refused: %v", got)
	}
	a.Succeeded(web, decide.Patch, "c") // Nothing was refused in that namespace.
	a.Succeeded(web, decide.Patch, "a")
	if a.Get(web).Refusals.Of("1", "a", clock.Now()) != nil || a.Get(web).Refusals.Of("1", "b", clock.Now()) == nil {
		t.Error("a success in a says something of b, or nothing of a")
	}
	if got := a.Get(web).Refusals.Of("1", "b", clock.Now()).Wait; got != 5*time.Second {
		t.Errorf("b waits for %s", got)
	}
	note(decide.Patch, "") // Of the protection.
	if got := a.Get(web).Refusals.OfCopy("c"); got == nil || got.In != "" {
		t.Errorf("the change of all: %v", got)
	}
	clock.Step(time.Hour)
	if got := a.Get(web).Refusals.Of("1", "b", clock.Now()).Wait; got != 0 {
		t.Errorf("b is due, and waits for %s", got)
	}
	a.Forget(web)
	if a.AnyRefused() || a.Get(web).Refusals.Any() {
		t.Error("something is refused of what is gone")
	}
}

// TestWaitOfADeletion checks that a refused deletion is retried within half a minute: nothing says when it
// would succeed.
func TestWaitOfADeletion(t *testing.T) {
	a, clock := testAttempts()
	for range 10 {
		a.Refuse(web, "1", decide.Refused{Verb: decide.Delete, Problem: field.Problem{Reason: "DeletionFailed", Message: "no"}})
		clock.Step(time.Second)
	}
	if got := a.Get(web).Refusals.Of("1", "", clock.Now()).Wait; got != 29*time.Second {
		t.Errorf("it waits for %s more", got)
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
			a, _ := testAttempts()
			a.Refuse(web, "1", first)
			next := first
			test.change(&next)
			if got := a.Refuse(web, test.version, next); got != test.want {
				t.Errorf("news: %t", got)
			}
			if got := a.Get(web).Refusals.Of(test.version, "", a.clock.Now()); got == nil || got.Message != test.message {
				t.Errorf("it says %v", got)
			}
			a.Succeeded(web, next.Verb, "")
			if a.AnyRefused() || a.Get(web).Refusals.Any() {
				t.Error("it is remembered after a success")
			}
		})
	}
}
