package retry

import (
	"testing"
	"time"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestConflicts(t *testing.T) {
	c := NewConflicts[string]()
	now := builder.Epoch
	expect := func(when, key string, after time.Duration, want bool) {
		t.Helper()
		now = now.Add(after)
		if got := c.Note(key, now); got != want {
			t.Errorf("%s they do not end: %v", when, got)
		}
	}
	expect("at first", "a", 0, false)
	expect("for a while", "a", 5*time.Second, false)
	expect("for too long", "a", time.Millisecond, true)
	expect("of another key", "b", 0, false)
	expect("after a slow try", "a", 10*time.Second, true)
	expect("long afterwards", "a", 10*time.Second+time.Millisecond, false)
	c.Forget("a")
	expect("after a success", "a", 5*time.Second+time.Millisecond, false)
	c.ForgetIf(func(key string) bool { return key == "b" })
	expect("of the one that is not forgotten", "a", 5*time.Second+time.Millisecond, true)
	c.ForgetIf(func(string) bool { return true })
	if len(c.streaks) > 0 {
		t.Error("what is gone is remembered")
	}
}

// TestServerErrors: each error takes as long as a webhook's timeout, and the other objects wait.
func TestServerErrors(t *testing.T) {
	s := NewServerErrors[string]()
	if s.Note("a", builder.Epoch) {
		t.Error("the first one counts")
	}
	if !s.Note("a", builder.Epoch.Add(30*time.Second)) {
		t.Error("the second one, half a minute later, does not count")
	}
	if !s.Note("a", builder.Epoch.Add(150*time.Second)) {
		t.Error("the third one, two minutes after that, does not count")
	}
	if s.Note("a", builder.Epoch.Add(270*time.Second+time.Millisecond)) {
		t.Error("one that comes later still does not begin anew")
	}
}
