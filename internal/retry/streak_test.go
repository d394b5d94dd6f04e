package retry

import (
	"testing"
	"time"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestStreak checks when answers of one kind count as endless. Each server error may take as long as a
// webhook's timeout, while the other objects wait: so their streak may have longer pauses.
func TestStreak(t *testing.T) {
	const ms = time.Millisecond
	type step struct {
		after time.Duration
		want  bool
	}
	for name, test := range map[string]struct {
		add   func(*Streak, time.Time) bool
		steps []step
	}{
		"conflicts": {(*Streak).Conflict, []step{
			{0, false}, {5 * time.Second, false}, {ms, true}, {10 * time.Second, true}, {10*time.Second + ms, false}, {5 * time.Second, false}, {ms, true},
		}},
		"server errors": {(*Streak).ServerError, []step{
			{0, false}, {30 * time.Second, true}, {2 * time.Minute, true}, {2*time.Minute + ms, false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var streak Streak
			now := builder.Epoch
			for i, step := range test.steps {
				now = now.Add(step.after)
				if got := test.add(&streak, now); got != step.want {
					t.Errorf("answer %d: endless: %t", i, got)
				}
			}
		})
	}
}
