package retry

import "time"

const (
	// streakFor is how long answers of one kind may repeat before they count as endless. By then a lagging
	// watch has caught up. A quota that others write too has let a creation pass.
	streakFor = 5 * time.Second
	// conflictsPause ends a streak of conflicts.
	conflictsPause = 10 * time.Second
	// serverErrorsPause ends a streak of server errors. Each may take a webhook's whole timeout, and many
	// other objects may be queued before this one.
	serverErrorsPause = 2 * time.Minute
)

// Streak is for how long requests about an object have met only answers of one kind, which are retried soon. An
// admission webhook may give such answers for ever. Its zero value means that there was none.
type Streak struct{ first, last time.Time }

// Conflict adds a conflict, which Done retries soon, and reports whether the streak is endless. Then the answer
// counts as a refusal.
func (s *Streak) Conflict(now time.Time) bool { return s.add(now, conflictsPause) }

// ServerError adds an error of IsServerError, and reports whether the streak is endless. Then the answer counts
// as a refusal.
func (s *Streak) ServerError(now time.Time) bool { return s.add(now, serverErrorsPause) }

func (s *Streak) add(now time.Time, pause time.Duration) bool {
	if s.first.IsZero() || now.Sub(s.last) > pause {
		s.first = now
	}
	s.last = now
	return now.Sub(s.first) > streakFor
}
