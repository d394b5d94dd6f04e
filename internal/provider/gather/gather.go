// Package gather delays a call for a moment, so that one call covers several events. For example, a role that
// lacks several rights causes several refusals at once, in any order. Gathering keeps the reported message the
// same each time: a different message would cause another write.
package gather

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Moment is the delay between the first event and the call.
const Moment = 500 * time.Millisecond

// Gathering calls a function a moment after the first of several events.
type Gathering struct {
	clock clock.WithDelayedExecution
	then  func()

	mu  sync.Mutex
	due bool
}

// New returns a Gathering that calls then.
func New(with clock.WithDelayedExecution, then func()) *Gathering {
	return &Gathering{clock: with, then: then}
}

// Begin calls BeginIn with Moment.
func (g *Gathering) Begin() { g.BeginIn(Moment) }

// BeginIn makes the function run after a delay, unless a run is already due. It may be called
// under a lock that the function takes.
func (g *Gathering) BeginIn(delay time.Duration) {
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
