package run

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// lastChange returns when the manager last wrote, or an object of the lane last changed.
func (l *Lane) lastChange(s *session) time.Time {
	return slices.MaxFunc([]time.Time{s.injector.LastWrite(), l.Ledger.LastChange()}, time.Time.Compare)
}

// writesAtMost is from how many writes on they count as endless. No scenario takes a tenth of them.
const writesAtMost = 2000

// eventually calls try until it returns nil. It gives up when nothing has changed for as long as patience,
// when the manager writes without end, or after six times patience.
func (l *Lane) eventually(ctx context.Context, s *session, patience time.Duration, try func(context.Context) error) error {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	var missing error
	ended := rig.Eventually(bounded, min(atMost, 6*patience), func(ctx context.Context) error {
		if bounded.Err() != nil {
			return missing // It has given up already, or the run is over.
		}
		missing = try(ctx)
		rests := time.Since(began) >= patience && time.Since(l.lastChange(s)) >= patience
		if missing == nil || !rests && len(s.injector.Points()) < writesAtMost {
			return missing
		}
		cancel()
		return missing
	})
	if ended == nil || missing == nil {
		return ended
	}
	return fmt.Errorf("gave up after %s: %w", time.Since(began).Round(time.Second), missing)
}

// rests waits until nothing has been written for the duration long, from now on.
func (l *Lane) rests(ctx context.Context, s *session, long time.Duration) error {
	began := time.Now()
	return rig.Eventually(ctx, atMost, func(context.Context) error {
		last := slices.MaxFunc([]time.Time{began, l.lastChange(s)}, time.Time.Compare)
		if since := time.Since(last); since < long {
			return fmt.Errorf("something was written %s ago", since.Round(time.Millisecond))
		}
		return nil
	})
}

// stacks returns the stacks of all goroutines, in all lanes. A manager that hangs is among them.
func stacks() string {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // A Builder does not fail.
	return all.String() + "\n"
}
