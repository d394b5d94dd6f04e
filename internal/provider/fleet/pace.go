package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	// startsFirst is how many sessions fill their caches at a time at first.
	startsFirst = 32
	// startsLeast is the least to which failures reduce that.
	startsLeast = 2
	// startsTurn is how long a session counts while it fills its caches. So a provider that hangs delays the
	// others by that much at most.
	startsTurn = 5 * time.Second
)

// pace limits how many sessions fill their caches at a time, over all providers. To fill caches is the most
// expensive part of a session. If all sessions do it at once, for example after a start, renewals of Leases get
// no answer in time, sessions end, and their successors fill their caches again, without end.
//
// As in TCP, each success raises the limit a little, and a failure halves it. Only what a provider that has just
// answered no longer answers counts as a failure, so providers that are away do not slow the others down.
type pace struct {
	clock clock.WithDelayedExecution

	mu      sync.Mutex
	limit   float64
	running int
	waiting []chan struct{}
	slowed  time.Time // When the limit was last halved.
}

func newPace(c clock.WithDelayedExecution) *pace { return &pace{clock: c, limit: startsFirst} }

// turn waits until one more session may fill its caches. The session calls done when they are full. Its turn ends
// after startsTurn in any case.
func (p *pace) turn(ctx context.Context) (done func(), err error) {
	p.mu.Lock()
	mine := make(chan struct{})
	p.waiting = append(p.waiting, mine)
	p.admit()
	p.mu.Unlock()
	select {
	case <-mine:
	case <-ctx.Done():
		p.leave(mine)
		return nil, context.Cause(ctx)
	}
	end := sync.OnceFunc(p.end)
	timer := p.clock.AfterFunc(startsTurn, end)
	return func() {
		timer.Stop()
		end()
	}, nil
}

// leave gives up waiting, or the turn that has just come.
func (p *pace) leave(mine chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, one := range p.waiting {
		if one == mine {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return
		}
	}
	p.running--
	p.admit()
}

func (p *pace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.admit()
}

// admit lets those go on for whom there is room, in the order in which they came. The lock must be held.
func (p *pace) admit() {
	for len(p.waiting) > 0 && p.running < int(p.limit) {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
		p.running++
	}
}

// faster notes that a session has filled its caches.
func (p *pace) faster() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = min(p.limit+1/p.limit, startsFirst)
	p.admit()
}

// slower notes that a session got no answer from a provider that had just answered. Failures within startsTurn
// have one cause, and count once.
func (p *pace) slower() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock.Now(); now.Sub(p.slowed) >= startsTurn {
		p.limit, p.slowed = max(p.limit/2, startsLeast), now
	}
}

// noAnswer reports whether a session ended because the provider did not answer in time.
func noAnswer(err error) bool {
	reason, _ := verdict(err)
	return reason == v1alpha1.ReasonUnreachable || reason == v1alpha1.ReasonLeaseNotRenewed
}
