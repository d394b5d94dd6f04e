package throttle

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Allowance allows a few writes of each key at once, and then one per interval: each interval restores one write.
// If the process ends, it forgets them, which costs a few early writes.
type Allowance[K comparable] struct {
	few      int
	interval time.Duration
	clock    clock.PassiveClock

	mu sync.Mutex
	// used is when all writes of a key will be restored.
	used map[K]time.Time
}

// NewAllowance returns an Allowance of a few writes, and then one per interval.
func NewAllowance[K comparable](few int, interval time.Duration, clock clock.PassiveClock) *Allowance[K] {
	return &Allowance[K]{few: few, interval: interval, clock: clock, used: map[K]time.Time{}}
}

// Wait returns how long a write of key must still wait; zero if it need not.
func (a *Allowance[K]) Wait(key K) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.used[key]
	if !ok {
		return 0
	}
	return max(0, until.Sub(a.clock.Now())-time.Duration(a.few-1)*a.interval)
}

// Wrote notes that key was just written.
func (a *Allowance[K]) Wrote(key K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if until := a.used[key]; until.After(now) {
		now = until
	}
	a.used[key] = now.Add(a.interval)
}

// Forget drops what is known about key.
func (a *Allowance[K]) Forget(key K) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.used, key)
}
