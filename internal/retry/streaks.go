package retry

import (
	"sync"
	"time"
)

const (
	// streakFor is how long answers of one kind may repeat before they count as endless.
	// By then a lagging watch has caught up, and a quota that others write too lets a
	// creation pass.
	streakFor = 5 * time.Second
	// conflictsPause ends a streak of conflicts.
	conflictsPause = 10 * time.Second
	// serverErrorsPause ends one of server errors: each may take a webhook's whole
	// timeout, and an object's turn comes after many others.
	serverErrorsPause = 2 * time.Minute
)

// Streaks remembers for how long requests about a key have met only answers of one kind,
// which are retried soon: an admission webhook may give them for ever. Losing it, with
// the process, costs some seconds of such retries.
type Streaks[K comparable] struct {
	pause time.Duration

	mu      sync.Mutex
	streaks map[K]streak
}

// streak is the time of the first answer and of the last.
type streak struct{ first, last time.Time }

// NewConflicts is for conflicts, which Done retries soon.
func NewConflicts[K comparable]() *Streaks[K] {
	return &Streaks[K]{pause: conflictsPause, streaks: map[K]streak{}}
}

// NewServerErrors is for errors of IsServerError.
func NewServerErrors[K comparable]() *Streaks[K] {
	return &Streaks[K]{pause: serverErrorsPause, streaks: map[K]streak{}}
}

// Note adds one, and reports whether the streak is endless, and so a refusal.
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

// Forget drops what is known about a key: a request succeeded, or none is needed any
// more.
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
