package crash

import "sync"

// bells ring when what is counted under their lock has come to a number.
type bells struct {
	mu sync.Mutex
	// waiting are those that have not rung yet. Each rings once, at the first
	// event after which its condition holds.
	waiting []bell
}

type bell struct {
	condition func() bool
	ring      chan struct{}
}

// moment is when so much is counted.
type moment struct {
	counted func() int
	atLeast int
}

// ring is called under the lock, after each event.
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

// when returns what is closed once a moment has come.
func (b *bells) when(at moment) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	added := bell{func() bool { return at.counted() >= at.atLeast }, make(chan struct{})}
	b.waiting = append(b.waiting, added)
	b.ring()
	return added.ring
}

// get reads a figure.
func (b *bells) get(count func() int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return count()
}
