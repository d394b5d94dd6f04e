package fleet

import (
	"context"
	"sync"
	"time"
)

// gathering is how long a session goes on when a watch was refused: the watches
// of the other kinds are refused in the same moment.
const gathering = 500 * time.Millisecond

// refusals gathers what the watches of a session are refused. A role that lacks
// several rights makes several errors at once, in any order, and the reason that
// is reported must be the same each time: another one would be another write.
type refusals struct {
	end context.CancelCauseFunc

	mu    sync.Mutex
	first error // By its text.
}

// add notes an error, which ends the session soon.
func (r *refusals) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil {
		time.AfterFunc(gathering, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.end(r.first)
		})
	}
	if r.first == nil || err.Error() < r.first.Error() {
		r.first = err
	}
}
