package throttle

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Rate allows Burst writes of one object at once, and then one per Interval: each interval restores one write.
type Rate struct {
	Burst    int
	Interval time.Duration
}

// Wait returns how long the next write must still wait; zero if it need not. used is when all earlier writes
// will be restored.
func (r Rate) Wait(used, now time.Time) time.Duration {
	if !used.After(now) {
		return 0
	}
	return max(0, used.Sub(now)-time.Duration(r.Burst-1)*r.Interval)
}

// Wrote returns when all writes will be restored after one at now.
func (r Rate) Wrote(used, now time.Time) time.Time {
	if used.After(now) {
		now = used
	}
	return now.Add(r.Interval)
}

// Allowance keeps writes of each key within a Rate. If the process ends, it forgets them, which costs a few
// early writes.
type Allowance[K comparable] struct {
	rate  Rate
	clock clock.PassiveClock

	mu   sync.Mutex
	used map[K]time.Time
}

// NewAllowance returns an Allowance of a few writes, and then one per interval.
func NewAllowance[K comparable](few int, interval time.Duration, clock clock.PassiveClock) *Allowance[K] {
	return &Allowance[K]{rate: Rate{few, interval}, clock: clock, used: map[K]time.Time{}}
}

// Wait returns how long a write of key must still wait; zero if it need not.
func (a *Allowance[K]) Wait(key K) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rate.Wait(a.used[key], a.clock.Now())
}

// Wrote notes that key was just written.
func (a *Allowance[K]) Wrote(key K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[key] = a.rate.Wrote(a.used[key], a.clock.Now())
}

// Forget drops what is known about key.
func (a *Allowance[K]) Forget(key K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, key)
}
