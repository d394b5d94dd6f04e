package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestTurns: so many sessions enter, and the next one once another has left, or has been there for its turn.
func TestTurns(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	g, full := newTurns(clock), errors.New("nobody left")
	enter := func() (func(), error) {
		ctx, cancel := context.WithCancelCause(t.Context())
		if len(g.slots) == atOnce {
			cancel(full)
		}
		defer cancel(nil)
		return g.enter(ctx)
	}
	var leave [atOnce]func()
	for i := range atOnce {
		var err error
		if leave[i], err = enter(); err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
	}
	if _, err := enter(); !errors.Is(err, full) {
		t.Errorf("one too many: %v, want %v", err, full)
	}
	leave[0]()
	leave[0]()
	if got := len(g.slots); got != atOnce-1 {
		t.Errorf("%d are inside after one has left twice, want %d", got, atOnce-1)
	}
	clock.Step(turn)
	for deadline := time.Now().Add(time.Minute); len(g.slots) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d are inside after their turn, want 0", len(g.slots))
		}
	}
	leave[1]() // Its turn is over. This takes nobody else's slot.
	if _, err := enter(); err != nil || len(g.slots) != 1 {
		t.Errorf("after all: %v with %d inside, want 1", err, len(g.slots))
	}
}
