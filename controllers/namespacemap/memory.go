package namespacemap

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

type localUIDs = map[string]types.UID

// outcomes remembers which namespaces the provider refused to create or delete, until the next attempt is due.
// Losing it with the process costs one more attempt each.
type outcomes struct {
	clock   clock.PassiveClock
	retries throttle.Intervals

	mu        sync.Mutex
	byBinding map[string]map[string]*attempt // By the remote namespace.
}

// attempt is what is remembered about one remote namespace.
type attempt struct {
	// Outcome is what was refused; empty if nothing was. until is when it may be retried. last is for retries.
	namespacemap.Outcome
	until time.Time
	last  throttle.Last
	// conflicts and serverErrors are the streaks of such answers.
	conflicts, serverErrors retry.Streak
}

func newOutcomes(first, most time.Duration, clock clock.PassiveClock) *outcomes {
	return &outcomes{
		clock: clock, retries: throttle.Intervals{First: first, Most: most, Rest: 2 * most}, byBinding: map[string]map[string]*attempt{},
	}
}

// of returns the attempt of a remote namespace. The caller has the lock.
func (o *outcomes) of(binding, remote string) *attempt {
	if o.byBinding[binding] == nil {
		o.byBinding[binding] = map[string]*attempt{}
	}
	if o.byBinding[binding][remote] == nil {
		o.byBinding[binding][remote] = &attempt{}
	}
	return o.byBinding[binding][remote]
}

func (o *outcomes) refused(binding, remote string, outcome namespacemap.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	attempt, now := o.of(binding, remote), o.clock.Now()
	attempt.Outcome, attempt.last = outcome, o.retries.Wrote(attempt.last, now)
	wait := attempt.last.Interval
	switch outcome.Reason {
	case v1alpha1.ReasonServerError:
		wait = min(wait, retry.ServerErrorWait)
	case v1alpha1.ReasonVolumesRemain: // The last deletion of a claim, and the permission to lose them, come as events.
		wait = volumesRetry
	}
	attempt.until = now.Add(wait)
}

// settled makes the next attempt due for remote namespaces of that name that wait for volumes, and reports whether there
// are any.
func (o *outcomes) settled(remote string) (waited bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, attempts := range o.byBinding {
		if found, ok := attempts[remote]; ok && found.Reason == v1alpha1.ReasonVolumesRemain {
			found.until, waited = time.Time{}, true
		}
	}
	return waited
}

// conflict adds a conflict, and reports whether conflicts do not end.
func (o *outcomes) conflict(binding, remote string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(binding, remote).conflicts.Conflict(o.clock.Now())
}

// serverError adds a server error, and reports whether they do not end.
func (o *outcomes) serverError(binding, remote string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(binding, remote).serverErrors.ServerError(o.clock.Now())
}

// last returns the last refusal in that phase, if nothing has succeeded since.
func (o *outcomes) last(binding, remote string, phase v1alpha1.MappingPhase) (namespacemap.Outcome, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found, ok := o.byBinding[binding][remote]; ok && found.Phase == phase {
		return found.Outcome, true
	}
	return namespacemap.Outcome{}, false
}

func (o *outcomes) clear(binding, remote string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byBinding[binding], remote)
}

// backingOff returns the relevant remote namespaces whose next attempt is not due yet, and the time until the
// first attempt is due.
func (o *outcomes) backingOff(binding string, asked sets.Set[string]) (map[string]namespacemap.Outcome, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	waiting := map[string]namespacemap.Outcome{}
	var first time.Duration
	for remote, found := range o.byBinding[binding] {
		if !asked.Has(remote) {
			delete(o.byBinding[binding], remote)
			continue
		}
		if wait := found.until.Sub(o.clock.Now()); wait > 0 {
			waiting[remote] = found.Outcome
			first = retry.Sooner(first, wait)
		}
	}
	return waiting, first
}

func (o *outcomes) forget(binding string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byBinding, binding)
}
