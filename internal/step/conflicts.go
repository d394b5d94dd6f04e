package step

import (
	"sync"
	"time"
)

// Conflicts in a row that last for longer than conflictsFor, with no pause of
// conflictsPause between them, do not end: what a watch has yet to bring is there
// by then, and a quota that others write too lets a creation pass sooner. An
// admission webhook may answer so for ever.
const (
	conflictsFor   = 5 * time.Second
	conflictsPause = 10 * time.Second
)

// Conflicts remembers for how long requests about a key have met nothing but
// conflicts, which Done has tried again soon. The zero value is ready. Losing it,
// with the process, costs some seconds of such tries.
type Conflicts[K comparable] struct {
	mu   sync.Mutex
	rows map[K]row
}

// row is when the first of some conflicts came, and the last.
type row struct{ first, last time.Time }

// Note notes a conflict, and tells whether they do not end: it is a refusal then.
func (c *Conflicts[K]) Note(key K, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[K]row{}
	}
	conflicts, ok := c.rows[key]
	if !ok || now.Sub(conflicts.last) > conflictsPause {
		conflicts.first = now
	}
	conflicts.last = now
	c.rows[key] = conflicts
	return now.Sub(conflicts.first) > conflictsFor
}

// Forget drops what is known about a key: a request has succeeded, or there is
// nothing to be asked any more.
func (c *Conflicts[K]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rows, key)
}

// ForgetIf drops what is known about all keys for which drop holds.
func (c *Conflicts[K]) ForgetIf(drop func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.rows {
		if drop(key) {
			delete(c.rows, key)
		}
	}
}
