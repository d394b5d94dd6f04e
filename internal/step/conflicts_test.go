package step

import (
	"testing"
	"time"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestConflicts(t *testing.T) {
	var c Conflicts[string]
	now := builder.Epoch
	expect := func(when, key string, after time.Duration, want bool) {
		t.Helper()
		now = now.Add(after)
		if got := c.Note(key, now); got != want {
			t.Errorf("%s they do not end: %v", when, got)
		}
	}
	expect("at first", "a", 0, false)
	expect("for a while", "a", conflictsFor, false)
	expect("for too long", "a", time.Millisecond, true)
	expect("of another key", "b", 0, false)
	expect("after a slow try", "a", conflictsPause, true)
	expect("long afterwards", "a", conflictsPause+time.Millisecond, false)
	c.Forget("a")
	expect("after a success", "a", conflictsFor+time.Millisecond, false)
	c.ForgetIf(func(string) bool { return true })
	if len(c.rows) > 0 {
		t.Error("what is gone is remembered")
	}
}
