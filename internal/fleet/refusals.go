package fleet

import (
	"context"
	"sync"

	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/gather"
)

// refusals gathers what the watches of a session are refused, and ends it for the one
// of them that comes first by its text: the watches of the other kinds are refused in
// the same moment, and the reason that is reported must be the same each time.
type refusals struct {
	gathering *gather.Gathering

	mu    sync.Mutex
	first error // By its text.
}

func newRefusals(with clock.WithDelayedExecution, end context.CancelCauseFunc) *refusals {
	r := &refusals{}
	r.gathering = gather.New(with, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		end(r.first)
	})
	return r
}

// add notes an error, which ends the session soon.
func (r *refusals) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first == nil || err.Error() < r.first.Error() {
		r.first = err
	}
	r.gathering.Begin()
}
