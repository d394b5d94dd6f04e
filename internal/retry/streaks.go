package retry

import (
	"sync"
	"time"
)

const (
	// streakFor is how long answers of one kind may follow each other before
	// they are taken not to end. What a watch has yet to bring is there by then,
	// and a quota that others write too lets a creation pass sooner.
	streakFor = 5 * time.Second
	// conflictsPause ends a streak of conflicts.
	conflictsPause = 10 * time.Second
	// serverErrorsPause ends one of server errors, each of which may take as long
	// as a webhook is waited for, and comes to an object after many others.
	serverErrorsPause = 2 * time.Minute
)

// Streaks remembers for how long requests about a key have met nothing but answers
// of one kind, which are tried again soon: an admission webhook may give them for
// ever. Losing it, with the process, costs some seconds of such tries.
type Streaks[K comparable] struct {
	pause time.Duration

	mu      sync.Mutex
	streaks map[K]streak
}

// streak is when the first answer came, and the last.
type streak struct{ first, last time.Time }

// NewConflicts is for conflicts, which Done has tried again soon.
func NewConflicts[K comparable]() *Streaks[K] {
	return &Streaks[K]{pause: conflictsPause, streaks: map[K]streak{}}
}

// NewServerErrors is for what IsServerError tells.
func NewServerErrors[K comparable]() *Streaks[K] {
	return &Streaks[K]{pause: serverErrorsPause, streaks: map[K]streak{}}
}

// Note notes one more, and reports whether they do not end: it is a refusal then.
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

// Forget drops what is known about a key: a request has succeeded, or there is
// nothing to be asked any more.
func (s *Streaks[K]) Forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streaks, key)
}

// ForgetIf drops what is known about all keys for which drop holds.
func (s *Streaks[K]) ForgetIf(drop func(K) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.streaks {
		if drop(key) {
			delete(s.streaks, key)
		}
	}
}
