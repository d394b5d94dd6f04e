// Package throttle spaces out writes of one object, so that many changes in a short time become one write.
// The first write is not delayed.
package throttle

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Intervals space out the writes of one object. The interval doubles while each write follows as soon as it
// may, up to Most. After a rest, it is back at First.
type Intervals struct {
	First, Most time.Duration
	// Rest is the time without a write that counts as a rest. Zero means twice the interval: by then, a write
	// that waited for it has been made.
	Rest time.Duration
}

// Last is the last write of an object, and the shortest time until the next one. Its zero value means that
// there was none.
type Last struct {
	At       time.Time
	Interval time.Duration
}

// Wait returns how long the next write must still wait; zero if it need not.
func (i Intervals) Wait(last Last, now time.Time) time.Duration {
	return max(0, last.Interval-now.Sub(last.At))
}

// Wrote returns the last write after one at now.
func (i Intervals) Wrote(last Last, now time.Time) Last {
	if now.Sub(last.At) < cmp.Or(i.Rest, 2*last.Interval) {
		return Last{now, min(2*last.Interval, i.Most)}
	}
	return Last{now, i.First}
}

// Pacer keeps Intervals between writes of the same key. So hundreds of changes take few writes, however long
// they take, and a single change does not wait. If the process ends, the Pacer forgets the intervals, which
// costs at most one early write.
type Pacer struct {
	intervals Intervals
	clock     clock.PassiveClock

	mu   sync.Mutex
	last map[string]Last
}

// New returns a Pacer whose interval between two writes of a key starts at first, and grows up to most.
func New(first, most time.Duration, clock clock.PassiveClock) *Pacer {
	return &Pacer{intervals: Intervals{First: first, Most: most}, clock: clock, last: map[string]Last{}}
}

// Wait returns how long a write of key must still wait; zero if it need not.
func (p *Pacer) Wait(key string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.intervals.Wait(p.last[key], p.clock.Now())
}

// Wrote notes that key was just written.
func (p *Pacer) Wrote(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[key] = p.intervals.Wrote(p.last[key], p.clock.Now())
}

// Forget drops what is known about key.
func (p *Pacer) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
}
