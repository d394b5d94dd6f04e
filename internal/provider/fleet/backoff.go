package fleet

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// How much longer than usual to wait for a provider that holds too much: at first, and at most. As shipped,
// that is from half a minute to ten.
const (
	slowFirst = 10
	slowMost  = 200
)

// lateMost is how much longer than usual to wait at most for a provider that does not answer in time: as shipped, half
// a minute. It may have too much to do.
const lateMost = 10

// startsMost is how much longer than usual to wait at most if something does not start, or a Lease is not kept. As shipped, that is two
// minutes. A session that lasts for begun counts as started.
const (
	startsMost = 40
	begun      = 2 * startsMost
)

// backoff is how long to wait before the next session. Each session with a provider that holds too much is
// expensive, so the wait grows. It also grows if something does not start, or if the Lease is not stored, because each
// try fills the caches. Otherwise an overloaded cluster would spend its time with new sessions.
type backoff struct {
	interval time.Duration
	// slow is for a provider that holds too much, starts for one where something does not start, and late for one
	// that does not answer in time.
	slow, starts, late wait.Backoff
}

func newBackoff(interval time.Duration) *backoff {
	p := &backoff{interval: interval}
	p.reset()
	return p
}

// reset starts again with the shortest waits. Only the caps limit how far they grow.
func (p *backoff) reset() {
	p.slow = wait.Backoff{Duration: slowFirst * p.interval, Factor: 2, Jitter: 0.2, Steps: math.MaxInt32, Cap: slowMost * p.interval}
	p.late = wait.Backoff{Duration: p.interval, Factor: 1.5, Jitter: 0.2, Steps: math.MaxInt32, Cap: lateMost * p.interval}
	p.starts = wait.Backoff{Duration: p.interval, Factor: 2, Jitter: 0.2, Steps: math.MaxInt32, Cap: startsMost * p.interval}
}

// next is how long to wait next a session of a given length that ended with err.
func (p *backoff) next(err error, lasted time.Duration) time.Duration {
	if lasted >= begun*p.interval {
		p.reset()
	}
	var excess *transport.ExcessError
	if errors.As(err, &excess) {
		return p.slow.Step()
	}
	if isCostly(err) {
		return p.starts.Step()
	}
	if isLate(err) {
		return p.late.Step()
	}
	p.reset()
	return wait.Jitter(p.interval, 0.2)
}

// believed is how many sessions in a row must end with a refusal (403) before it is reported. For some seconds
// after its start, an API server refuses allowed requests, because it has not read its roles. As shipped, a
// missing right is reported after six seconds.
const believed = 3

// failureCount counts the sessions in a row that ended with a refusal. When leaving, it counts those that ended
// with any error, and the connector stops trying once a failure is reported.
type failureCount struct {
	leaving  bool
	refusals int
}

// mayBeTransient reports whether the error that ended a session may be a passing refusal.
func (d *failureCount) mayBeTransient(err error) bool {
	if reason, _ := verdict(err); !d.leaving && reason != v1alpha1.ReasonForbidden && reason != v1alpha1.ReasonLeaseForbidden {
		d.refusals = 0
		return false
	}
	d.refusals = min(d.refusals+1, believed)
	return d.refusals < believed
}

// reset notes that a session has outlived a probe. Just starting is not enough: each session may be refused
// right after that.
func (d *failureCount) reset() { d.refusals = 0 }

// isLate reports whether an error says that the provider had too much to do, or did not answer in time.
func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// isCostly reports whether an error ended a session after it had cost the provider more than a few requests.
func isCostly(err error) bool {
	refused, ok := errors.AsType[errNotUsable](err)
	return ok && slices.Contains([]string{v1alpha1.ReasonStartFailed, v1alpha1.ReasonLeaseNotRenewed, v1alpha1.ReasonHolderNotRecorded}, refused.reason)
}
