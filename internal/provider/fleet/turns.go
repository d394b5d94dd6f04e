package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// As shipped, atOnce sessions fill their caches at the same time, and one that takes longer than turn makes room for
// the next.
const (
	atOnce = 5
	turn   = 2 * time.Second
)

// turns limits how many sessions fill their caches at the same time. Each opens a watch for each kind. With many
// bindings at the start of a manager, providers that share a machine, or bindings that share a provider, would answer
// none of them in time: an API server queues a few hundred requests of an account, and refuses the others. A provider
// that does not answer delays the others by turn.
type turns struct {
	clock clock.WithDelayedExecution
	slots chan struct{}
}

func newTurns(of clock.WithDelayedExecution) *turns {
	return &turns{of, make(chan struct{}, atOnce)}
}

// enter waits for a slot. leave gives it back, and may be called more than once.
func (t *turns) enter(ctx context.Context) (leave func(), _ error) {
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	once := sync.OnceFunc(func() { <-t.slots })
	timer := t.clock.AfterFunc(turn, once)
	return func() {
		timer.Stop()
		once()
	}, nil
}
