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
	expect("for a while", "a", streakFor, false)
	expect("for too long", "a", time.Millisecond, true)
	expect("of another key", "b", 0, false)
	expect("after a slow try", "a", conflictsPause, true)
	expect("long afterwards", "a", conflictsPause+time.Millisecond, false)
	c.Forget("a")
	expect("after a success", "a", streakFor+time.Millisecond, false)
	c.ForgetIf(func(string) bool { return true })
	if len(c.streaks) > 0 {
		t.Error("what is gone is remembered")
	}
}

// TestServerErrors: each takes as long as a webhook's timeout, and the others that wait
// for it.
func TestServerErrors(t *testing.T) {
	s := NewServerErrors[string]()
	if s.Note("a", builder.Epoch) {
		t.Error("the first one counts")
	}
	if !s.Note("a", builder.Epoch.Add(30*time.Second)) {
		t.Error("the second one, half a minute later, does not count")
	}
}
