package throttle

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Brake holds back what is sent for a key after too much of it ended too soon. A few
// early ends close it, unless spread over a long time. While closed, it lets one through
// at a time, ever more slowly, as a trial. It opens once a trial has lived long enough
// with no early end meanwhile. A key without an early end for long is forgotten, so that
// unused keys do not pile up. A Brake's knowledge is lost with the process.
type Brake struct {
	ends   *Allowance[string]
	trials *Pacer
	soon   time.Duration
	clock  clock.PassiveClock

	mu sync.Mutex
	// closed is when the first trial was sent since a key's last early end; zero if none.
	closed map[string]time.Time
	// ended is the last early end of each known key.
	ended map[string]time.Time
}

// NewBrake returns a Brake that more early ends than ends allows close, and that then
// lets trials through one by one. Whatever ends before it has lived for soon has ended
// early.
func NewBrake(ends *Allowance[string], trials *Pacer, soon time.Duration, clock clock.PassiveClock) *Brake {
	return &Brake{ends: ends, trials: trials, soon: soon, clock: clock, closed: map[string]time.Time{}, ended: map[string]time.Time{}}
}

// Wait returns how long the next one of key must still wait; zero: it may go now.
func (b *Brake) Wait(key string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait(key)
}

func (b *Brake) wait(key string) time.Duration {
	tried, closed := b.closed[key]
	switch {
	case !closed:
		return 0
	case tried.IsZero():
		return b.trials.Wait(key)
	}
	lives := b.soon - b.clock.Since(tried)
	if lives <= 0 {
		delete(b.closed, key)
		return 0
	}
	return min(lives, b.trials.Wait(key))
}

// Take reports whether one of key may be sent now, and counts it as a trial if closed.
func (b *Brake) Take(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait(key) > 0 {
		return false
	}
	if _, closed := b.closed[key]; closed {
		b.trials.Wrote(key)
	}
	return true
}

// Sent notes that one of key was just sent.
func (b *Brake) Sent(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tried, closed := b.closed[key]; closed && tried.IsZero() {
		b.closed[key] = b.clock.Now()
	}
}

// Ended notes that one of key ended after lived.
func (b *Brake) Ended(key string, lived time.Duration) {
	if lived >= b.soon {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget()
	b.ended[key] = b.clock.Now()
	if _, closed := b.closed[key]; closed {
		b.closed[key] = time.Time{}
		return
	}
	if b.ends.Wait(key) == 0 {
		b.ends.Wrote(key)
		return
	}
	b.closed[key] = time.Time{}
	b.trials.Wrote(key)
}

// forget drops the keys without an early end for longer than all their allowance takes to
// come back, and twice the time between two trials: whoever wanted to send has done so
// since.
func (b *Brake) forget() {
	rest := max(2*b.trials.most, time.Duration(b.ends.few)*b.ends.interval) + b.soon
	for key, at := range b.ended {
		if b.clock.Since(at) >= rest {
			delete(b.ended, key)
			delete(b.closed, key)
			b.ends.Forget(key)
			b.trials.Forget(key)
		}
	}
}
