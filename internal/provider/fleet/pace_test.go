package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// fillers starts so many sessions that fill their caches. Each sends its done when it has its turn.
func fillers(ctx context.Context, p *pace, n int) <-chan func() {
	turns := make(chan func(), n)
	for range n {
		go func() {
			if done, err := p.turn(ctx); err == nil {
				turns <- done
			}
		}()
	}
	return turns
}

// TestFewFillTheirCachesAtATime checks that one more begins when one has ended, or has taken too long.
func TestFewFillTheirCachesAtATime(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	p := newPace(clock)
	turns := fillers(t.Context(), p, 2*startsFirst+1)
	var first func()
	for range startsFirst {
		first = <-turns
	}
	p.mu.Lock()
	if p.running != startsFirst {
		t.Errorf("%d fill their caches, want %d", p.running, startsFirst)
	}
	p.mu.Unlock()
	first()
	first() // Again, as its timer might.
	<-turns
	clock.Step(startsTurn) // The 32 that hang delay nobody any more.
	for range startsFirst {
		<-turns
	}
	if len(p.waiting) != 0 {
		t.Errorf("%d wait", len(p.waiting))
	}
}

func TestNobodyWaitsInVain(t *testing.T) {
	p := newPace(clocktesting.NewFakeClock(time.Now()))
	p.limit = 1
	done, err := p.turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("over"))
	if _, err := p.turn(ended); err == nil || err.Error() != "over" {
		t.Errorf("the turn of a session that has ended: %v", err)
	}
	turns := fillers(t.Context(), p, 1)
	done()
	(<-turns)()
	if p.running != 0 || len(p.waiting) != 0 {
		t.Errorf("%d have a turn, and %d wait", p.running, len(p.waiting))
	}
}

func TestPaceFollowsWhatProvidersCanAnswer(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	p := newPace(clock)
	for _, want := range []float64{16, 16, 8} {
		p.slower()
		if p.limit != want {
			t.Errorf("the limit is %v, want %v", p.limit, want)
		}
		clock.Step(startsTurn / 2)
	}
	for range 10 {
		clock.Step(startsTurn)
		p.slower()
	}
	if p.limit != startsLeast {
		t.Errorf("after many failures the limit is %v, want %d", p.limit, startsLeast)
	}
	for range startsFirst * startsFirst {
		p.faster()
	}
	if p.limit != startsFirst {
		t.Errorf("after many successes the limit is %v, want %d", p.limit, startsFirst)
	}
}
