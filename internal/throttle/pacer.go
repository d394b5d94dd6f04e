// Package throttle spaces out writes of one object, so that many changes that come
// in a short time are one write. The first write is not delayed.
package throttle

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Pacer keeps an interval between writes of the same key. The interval doubles
// while one write follows the other as soon as it may, and is back at its first
// value after a rest: a change of hundreds of things at once takes few writes,
// however long it takes, and a change of one waits for nothing. What a Pacer
// knows is lost with the process, which costs at most one early write.
type Pacer struct {
	first, most time.Duration
	clock       clock.PassiveClock

	mu   sync.Mutex
	last map[string]write
}

// write is the last one of a key, and how far the next one is from it at least.
type write struct {
	at       time.Time
	interval time.Duration
}

// New returns a Pacer whose interval between two writes of a key is first, and
// grows up to most.
func New(first, most time.Duration, clock clock.PassiveClock) *Pacer {
	return &Pacer{first: first, most: most, clock: clock, last: map[string]write{}}
}

// Wait is how long a write of key has to wait still; zero if it may go now.
func (p *Pacer) Wait(key string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[key]
	if !ok {
		return 0
	}
	return max(0, last.interval-p.clock.Since(last.at))
}

// Wrote notes that key was written just now.
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
