package fleet

import (
	"context"
	"sync"

	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/provider/gather"
)

// refusals gathers the refused watches of a session, and ends it with the refusal whose text sorts first.
// Watches of several kinds are refused at the same moment, and the reported reason must be the same each time.
type refusals struct {
	debouncer *gather.Debouncer

	mu    sync.Mutex
	first error // In the order of texts.
}

func newRefusals(with clock.WithDelayedExecution, end context.CancelCauseFunc) *refusals {
	r := &refusals{}
	r.debouncer = gather.New(with, func() {
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
	r.debouncer.Trigger()
}
