// Package gather delays a call for a moment, so that one call covers several events. For example, a role that
// lacks several rights causes several refusals at once, in any order. The Debouncer keeps the reported message
// the same each time: a different message would cause another write.
package gather

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Moment is the delay between the first event and the call.
const Moment = 500 * time.Millisecond

// Debouncer calls a function a moment after the first of several events.
type Debouncer struct {
	clock clock.WithDelayedExecution
	then  func()

	mu  sync.Mutex
	due bool
}

// New returns a Debouncer that calls then.
func New(with clock.WithDelayedExecution, then func()) *Debouncer {
	return &Debouncer{clock: with, then: then}
}

// Trigger calls TriggerAfter with Moment.
func (g *Debouncer) Trigger() { g.TriggerAfter(Moment) }

// TriggerAfter makes the function run after a delay, unless a run is already due. It may be called
// under a lock that the function takes.
func (g *Debouncer) TriggerAfter(delay time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.due {
		return
	}
	g.due = true
	g.clock.AfterFunc(delay, func() {
		g.mu.Lock()
		g.due = false
		g.mu.Unlock()
		g.then()
	})
}
