package fleet

import (
	"errors"
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

// pause is how long to wait before the next session. A provider of which there is
// too much costs that much with each of them, so it waits ever longer.
type pause struct {
	interval time.Duration
	slow     wait.Backoff
}

func newPause(interval time.Duration) *pause {
	p := &pause{interval: interval}
	p.reset()
	return p
}

func (p *pause) reset() {
	p.slow = wait.Backoff{Duration: slowFirst * p.interval, Factor: 2, Jitter: 0.2, Steps: slowMost, Cap: slowMost * p.interval}
}

// after is how long to wait after a session that has ended with an error.
func (p *pause) after(err error) time.Duration {
	var excess *transport.ExcessError
	if errors.As(err, &excess) {
		return p.slow.Step()
	}
	p.reset()
	return wait.Jitter(p.interval, 0.2)
}
