package throttle

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Brake holds back what is sent of a key after too much of it was ended too soon.
// A few early ends close it, unless they are spread over a long time. While it is
// closed, one is sent at a time, ever more slowly, to try. It opens when nothing has
// ended early while what was tried has lived long enough. A key of which nothing has
// ended early for long begins anew, so that there is no end of keys that are used no
// more. What a Brake knows is lost with the process.
type Brake struct {
	ends   *Allowance[string]
	trials *Pacer
	soon   time.Duration
	clock  clock.PassiveClock

	mu sync.Mutex
	// closed is when the first was tried since the last early end of a key; zero if none was.
	closed map[string]time.Time
	// ended is when something of a key has last ended early. Nothing is known of others.
	ended map[string]time.Time
}

// NewBrake returns a Brake that is closed by more early ends than there are to
// be, and then lets one trial through in its turn. What ends before it has lived
// for as long as soon has ended early.
func NewBrake(ends *Allowance[string], trials *Pacer, soon time.Duration, clock clock.PassiveClock) *Brake {
	return &Brake{ends: ends, trials: trials, soon: soon, clock: clock, closed: map[string]time.Time{}, ended: map[string]time.Time{}}
}

// Wait is how long the next of key has to wait still; zero if it may go now.
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

// Take reports whether one of key may be sent now, of all that want to be.
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

// Sent notes that one of key was sent just now.
func (b *Brake) Sent(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tried, closed := b.closed[key]; closed && tried.IsZero() {
		b.closed[key] = b.clock.Now()
	}
}

// Ended notes that one of key was ended that had lived for so long.
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

// forget drops the keys of which nothing has ended early for longer than it takes
// until all of their early ends have come back, and for twice as long as there is
// between two trials: who wanted to send has done so since.
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
