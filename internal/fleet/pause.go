package fleet

import (
	"errors"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/spillway-io/spillway/internal/fleet/transport"
)

// How much longer than usual a provider waits of which there is too much: at
// first, and at most. As shipped that is from half a minute to ten.
const (
	slowFirst = 10
	slowMost  = 200
)

// startsMost is how much longer than usual a provider waits at most with which
// something does not start: as shipped, two minutes. Begun is how long a session
// lasts that counts as started.
const (
	startsMost = 40
	begun      = 2 * startsMost
)

// pause is how long to wait before the next session. A provider of which there is
// too much costs that much with each of them, so it waits ever longer; and so does
// one with which something does not start, for its caches are filled each time.
type pause struct {
	interval     time.Duration
	slow, starts wait.Backoff
}

func newPause(interval time.Duration) *pause {
	p := &pause{interval: interval}
	p.reset()
	return p
}

// reset begins anew. How far both grow is said by their caps, and by nothing else.
func (p *pause) reset() {
	p.slow = wait.Backoff{Duration: slowFirst * p.interval, Factor: 2, Jitter: 0.2, Steps: math.MaxInt32, Cap: slowMost * p.interval}
	p.starts = wait.Backoff{Duration: p.interval, Factor: 2, Jitter: 0.2, Steps: math.MaxInt32, Cap: startsMost * p.interval}
}

// after is how long to wait after a session that has lasted so long, and has ended
// with an error.
func (p *pause) after(err error, lasted time.Duration) time.Duration {
	if lasted >= begun*p.interval {
		p.reset()
	}
	var excess *transport.ExcessError
	if errors.As(err, &excess) {
		return p.slow.Step()
	}
	if isStartFailed(err) {
		return p.starts.Step()
	}
	p.reset()
	return wait.Jitter(p.interval, 0.2)
}
