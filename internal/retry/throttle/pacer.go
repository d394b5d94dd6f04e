// Package throttle spaces out writes of one object, so that many changes in a short time become one write.
// The first write is not delayed.
package throttle

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Pacer keeps an interval between writes of the same key. The interval doubles while each write follows as
// soon as it may. After a rest, it is back at its first value. So hundreds of changes take few writes,
// however long they take, and a single change does not wait. If the process ends, the Pacer forgets the
// intervals, which costs at most one early write.
type Pacer struct {
	first, most time.Duration
	clock       clock.PassiveClock

	mu   sync.Mutex
	last map[string]write
}

// write is the last write of a key, and the shortest time until the next one.
type write struct {
	at       time.Time
	interval time.Duration
}

// New returns a Pacer whose interval between two writes of a key starts at first, and grows up to most.
func New(first, most time.Duration, clock clock.PassiveClock) *Pacer {
	return &Pacer{first: first, most: most, clock: clock, last: map[string]write{}}
}

// Wait returns how long a write of key must still wait; zero if it need not.
func (p *Pacer) Wait(key string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[key]
	if !ok {
		return 0
	}
	return max(0, last.interval-p.clock.Since(last.at))
}

// Wrote notes that key was just written.
func (p *Pacer) Wrote(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	interval := p.first
	// Within twice the interval, this write has probably waited for it.
	if last, ok := p.last[key]; ok && p.clock.Since(last.at) < 2*last.interval {
		interval = min(2*last.interval, p.most)
	}
	p.last[key] = write{p.clock.Now(), interval}
}

// Forget drops what is known about key.
func (p *Pacer) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
}
