package fleet

import (
	"context"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/holder"
	"github.com/spillway-io/spillway/internal/ownwrites"
)

// raiseInterval is how often the generation of a Lease is raised. A copy of the
// consumer that is younger than the last raise cannot be told from the original.
const raiseInterval = time.Hour

// refusedDurations is for how many durations of a Lease it has to be refused to one
// who has held it before that one goes on without.
const refusedDurations = 4

// NewIdentity is one of a manager: where it runs, and a number that no other one has.
func NewIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "_" + string(uuid.NewUUID())
}

// hold is what a connection knows of its Lease in the provider. It outlives the
// sessions: to see that another holder is gone may take longer than one of them.
type hold struct {
	clock    clock.PassiveClock
	duration time.Duration
	// news is filled when the ClusterBinding says something new.
	news chan struct{}

	mu    sync.Mutex
	lease *coordinationv1.Lease // As it was seen last; nil: there was none.
	// since is when we have first seen it so, and renewed that we had seen it before.
	since   time.Time
	renewed bool

	// fenced is unset for a provider that lets us have no Lease: then there is no bound.
	fenced bool
	until  time.Time // When we must have stopped writing.
	raised time.Time // When the generation last rose.

	recorded v1alpha1.HolderStatus
	takeOver int64

	// under is how many writes are under way, and idle is told when none is any
	// more. brokenOff is when the last one has ended without an answer.
	under     int
	idle      chan struct{}
	brokenOff time.Time
	// refused is since when the provider lets us have the Lease no more.
	refused time.Time
	// waiting is set until the Lease is settled: from then on nobody is waited for.
	waiting bool
	// verdict is why the Lease, as it was read last, is not for us; or nil.
	verdict error
}

func newHold(target *Target, options *Options) *hold {
	return &hold{
		clock: options.Clock, duration: options.LeaseDuration, news: make(chan struct{}, 1), fenced: true,
		recorded: target.Holder, takeOver: target.TakeOver,
	}
}

// record takes over what the ClusterBinding says now.
func (h *hold) record(recorded v1alpha1.HolderStatus, takeOver int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.recorded == recorded && h.takeOver == takeOver {
		return
	}
	h.recorded, h.takeOver = recorded, takeOver
	h.wake()
}

// remembered is what the ClusterBinding says.
func (h *hold) remembered() (recorded v1alpha1.HolderStatus, takeOver int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recorded, h.takeOver
}

// wake has the Lease looked at again at once.
func (h *hold) wake() {
	select {
	case h.news <- struct{}{}:
	default: // It is going to be.
	}
}

// see notes what the provider shows; nil: no Lease.
func (h *hold) see(lease *coordinationv1.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case lease == nil:
		h.lease, h.renewed = nil, false
	case h.lease == nil || h.lease.UID != lease.UID:
		h.lease, h.renewed, h.since = lease, false, h.clock.Now()
	case h.lease.ResourceVersion != lease.ResourceVersion:
		h.lease, h.renewed, h.since = lease, true, h.clock.Now()
	}
}

// wentBack reports whether the provider shows an older version than before: its etcd
// was restored from a backup. Then a watch goes on in the future, and shows nothing.
func (h *hold) wentBack(lease *coordinationv1.Lease) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return lease != nil && h.lease != nil && ownwrites.Older(lease, h.lease)
}

// wrote notes what has been written, and when that began: nobody can have seen it
// before.
func (h *hold) wrote(lease *coordinationv1.Lease, began time.Time) {
	h.see(lease)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fenced, h.until, h.refused = true, began.Add(h.duration*4/5), time.Time{}
}

// raise notes that the generation has risen.
func (h *hold) raise() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.raised = h.clock.Now()
}

// lift lets writes pass without a Lease.
func (h *hold) lift() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fenced, h.until = false, time.Time{}
}

// drop refuses writes from now on, and returns the Lease if we held it.
func (h *hold) drop() *coordinationv1.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.fenced && h.until.After(h.clock.Now())
	h.fenced, h.until = true, time.Time{}
	if !held {
		return nil
	}
	return h.lease
}

// writing notes that a write is sent.
func (h *hold) writing() (ended func(answered bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.under++
	return func(answered bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !answered {
			h.brokenOff = h.clock.Now()
		}
		if h.under--; h.under == 0 && h.idle != nil {
			close(h.idle)
			h.idle = nil
		}
	}
}

// settled waits until no write is under way, and reports whether all of late were
// answered: another one may still be carried out, for as long as a successor waits
// that finds our Lease.
func (h *hold) settled(ctx context.Context) bool {
	h.mu.Lock()
	if h.under > 0 && h.idle == nil {
		h.idle = make(chan struct{})
	}
	idle := h.idle
	h.mu.Unlock()
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			return false
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.brokenOff.IsZero() || h.clock.Now().Sub(h.brokenOff) >= h.duration
}

// wait notes whether the Lease is still waited for.
func (h *hold) wait(waiting bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = waiting
}

// sharing reports whether who holds the Lease that is waited for is about to give it
// back. The lock is held.
func (h *hold) sharing(shares func(identity string) bool) bool {
	return shares != nil && h.waiting && h.lease != nil && shares(ptr.Deref(h.lease.Spec.HolderIdentity, ""))
}

// judge notes why the Lease is not for us, or that it may be.
func (h *hold) judge(verdict error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.verdict = verdict
}

// judged returns why the Lease was not for us when it was read last. That holds
// until it is read again: what cannot be read is not free.
func (h *hold) judged() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.verdict
}

// patient reports whether a refusal of the Lease is too young to go on without it. A
// right that is missing for a moment must not let two managers write: the other one
// waits for less than this. One that nobody who works for this binding has ever seen,
// and that there is not, is not waited for; unread is set if that cannot be said.
func (h *hold) patient(unread bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lease == nil && (!unread || h.recorded.Generation == 0) {
		return false
	}
	now := h.clock.Now()
	if h.refused.IsZero() {
		h.refused = now
	}
	return now.Sub(h.refused) < refusedDurations*h.duration
}

// left is how much time a write has; false if it is not bounded.
func (h *hold) left() (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until.Sub(h.clock.Now()), h.fenced
}

// held reports whether we hold the Lease, as far as we know.
func (h *hold) held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fenced && h.lease != nil && !h.until.IsZero()
}

// snapshot is what is decided on.
func (c *keeper) snapshot(account string) holder.Snapshot {
	h, options := c.hold, &c.fleet.options
	h.mu.Lock()
	defer h.mu.Unlock()
	return holder.Snapshot{
		Lease: h.lease, Unchanged: h.clock.Now().Sub(h.since), Renewed: h.renewed,
		Mark: c.mark(), Account: account, Identity: options.Identity,
		Recorded: h.recorded, TakeOver: h.takeOver, Binding: c.target.Name,
		Duration: h.duration, RaiseDue: !h.raised.IsZero() && h.clock.Now().Sub(h.raised) >= raiseInterval,
		Leaving: c.target.Leaving, Sharing: h.sharing(options.Shares),
	}
}
