package retry

import (
	"sync"
	"time"
)

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

// Streaks remembers for how long requests about a key have met only answers of one kind, which are retried
// soon. An admission webhook may give such answers for ever. If the process ends, it forgets them, which
// costs some seconds of retries.
type Streaks[K comparable] struct {
	pause time.Duration

	mu      sync.Mutex
	streaks map[K]streak
}

// streak has the times of the first and the last answer.
type streak struct{ first, last time.Time }

// NewConflicts is for conflicts, which Done retries soon.
func NewConflicts[K comparable]() *Streaks[K] {
	return &Streaks[K]{pause: conflictsPause, streaks: map[K]streak{}}
}

// NewServerErrors is for errors of IsServerError.
func NewServerErrors[K comparable]() *Streaks[K] {
	return &Streaks[K]{pause: serverErrorsPause, streaks: map[K]streak{}}
}

// Note adds an answer, and reports whether the streak is endless. Then the answer counts as a refusal.
func (s *Streaks[K]) Note(key K, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.streaks[key]
	if !ok || now.Sub(found.last) > s.pause {
		found.first = now
	}
	found.last = now
	s.streaks[key] = found
	return now.Sub(found.first) > streakFor
}

// Forget drops what is known about a key. Call it if a request succeeded, or if none is needed any more.
func (s *Streaks[K]) Forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streaks, key)
}

// ForgetIf drops what is known about the keys for which drop holds.
func (s *Streaks[K]) ForgetIf(drop func(K) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.streaks {
		if drop(key) {
			delete(s.streaks, key)
		}
	}
}
