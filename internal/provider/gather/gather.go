// Package gather waits a moment for what comes together with something. A role that
// lacks several rights, say, makes several refusals at once, in any order, and what is
// said of them is to be the same each time: another message would be another write.
package gather

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Moment is how long is waited for more.
const Moment = 500 * time.Millisecond

// Gathering calls a function a moment after the first of several things has come.
type Gathering struct {
	clock clock.WithDelayedExecution
	then  func()

	mu  sync.Mutex
	due bool
}

// New gathers for a function.
func New(with clock.WithDelayedExecution, then func()) *Gathering {
	return &Gathering{clock: with, then: then}
}

// Begin has the function called in a moment, unless it is going to be. It may be called
// under a lock that the function takes.
func (g *Gathering) Begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.due {
		return
	}
	g.due = true
	g.clock.AfterFunc(Moment, func() {
		g.mu.Lock()
		g.due = false
		g.mu.Unlock()
		g.then()
	})
}
