package crash

import "sync"

// bells ring when a count that their lock guards has reached a number.
type bells struct {
	mu sync.Mutex
	// waiting are the bells that have not rung yet. Each rings once, at the first event after which its
	// condition is true.
	waiting []bell
}

type bell struct {
	condition func() bool
	ring      chan struct{}
}

// moment is the time when counted returns at least atLeast.
type moment struct {
	counted func() int
	atLeast int
}

// ring rings the bells whose condition is true. The caller holds the lock, and calls ring after each event.
func (b *bells) ring() {
	waiting := b.waiting[:0]
	for _, bell := range b.waiting {
		if bell.condition() {
			close(bell.ring)
		} else {
			waiting = append(waiting, bell)
		}
	}
	b.waiting = waiting
}

// when returns a channel that is closed at a moment.
func (b *bells) when(at moment) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	added := bell{func() bool { return at.counted() >= at.atLeast }, make(chan struct{})}
	b.waiting = append(b.waiting, added)
	b.ring()
	return added.ring
}

// get reads a count.
func (b *bells) get(count func() int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return count()
}
