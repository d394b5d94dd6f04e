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

// raiseInterval is how often the generation of a Lease is raised. A copy of the consumer
// younger than the last raise cannot be told from the original.
const raiseInterval = time.Hour

// refusedDurations is for how many Lease durations the Lease must be refused to a former
// holder before it goes on without.
const refusedDurations = 4

// NewIdentity returns a manager's identity: its host, and a unique number.
func NewIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "_" + string(uuid.NewUUID())
}

// hold is what a connection knows of its Lease in the provider. It outlives the sessions,
// since seeing that another holder is gone may take longer than one.
type hold struct {
	clock    clock.PassiveClock
	duration time.Duration
	// news is filled when the ClusterBinding says something new.
	news chan struct{}

	mu    sync.Mutex
	lease *coordinationv1.Lease // As last seen; nil: none.
	// since is when we first saw this version; renewed is set if it replaced one seen
	// before.
	since   time.Time
	renewed bool

	// fenced is false for a provider that denies us a Lease: then writes have no
	// deadline.
	fenced bool
	until  time.Time // When we must have stopped writing.
	raised time.Time // When the generation last rose.

	recorded v1alpha1.HolderStatus
	takeOver string

	// under counts writes in progress, idle is closed when none is left, and brokenOff is
	// when a write last ended without an answer.
	under     int
	idle      chan struct{}
	brokenOff time.Time
	// refused is since when the provider has denied us the Lease.
	refused time.Time
	// waiting is set until the Lease is settled: after that we wait for nobody.
	waiting bool
	// verdict is why the Lease, as last read, is not for us; or nil.
	verdict error
}

func newHold(target *Target, options *Options) *hold {
	return &hold{
		clock: options.Clock, duration: options.LeaseDuration, news: make(chan struct{}, 1), fenced: true,
		recorded: target.Holder, takeOver: target.TakeOver,
	}
}

// record notes what the ClusterBinding says now.
func (h *hold) record(recorded v1alpha1.HolderStatus, takeOver string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.recorded == recorded && h.takeOver == takeOver {
		return
	}
	h.recorded, h.takeOver = recorded, takeOver
	h.wake()
}

// remembered is what the ClusterBinding says.
func (h *hold) remembered() (recorded v1alpha1.HolderStatus, takeOver string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recorded, h.takeOver
}

// wake has the Lease checked at once.
func (h *hold) wake() {
	select {
	case h.news <- struct{}{}:
	default: // It will be.
	}
}

// see notes the provider's Lease; nil: none.
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

// wentBack reports whether the provider shows an older version than before: its etcd was
// restored from a backup. Then a watch continues from a future version, and shows
// nothing.
func (h *hold) wentBack(lease *coordinationv1.Lease) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return lease != nil && h.lease != nil && ownwrites.Older(lease, h.lease)
}

// wrote notes a written Lease, and when the write began: nobody can have seen it earlier.
func (h *hold) wrote(lease *coordinationv1.Lease, began time.Time) {
	h.see(lease)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fenced, h.until, h.refused = true, began.Add(h.duration*4/5), time.Time{}
}

// raise notes when the generation has risen.
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

// writing notes that a write is being sent.
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

// settled waits until no write is in progress, and reports whether all recent ones were
// answered: an unanswered one may still take effect, for as long as a successor waits on
// finding our Lease.
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

// wait notes whether we still wait for the Lease.
func (h *hold) wait(waiting bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = waiting
}

// sharing reports whether the holder of the Lease we wait for is about to give it back.
// The lock is held.
func (h *hold) sharing(shares func(identity string) bool) bool {
	return shares != nil && h.waiting && h.lease != nil && shares(ptr.Deref(h.lease.Spec.HolderIdentity, ""))
}

// judge notes why the Lease is not for us; nil: it may be.
func (h *hold) judge(verdict error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.verdict = verdict
}

// judged returns why the Lease was not for us when last read. That holds until the next
// read: an unreadable Lease is not free.
func (h *hold) judged() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.verdict
}

// patient reports whether a refusal of the Lease is too recent to go on without it. A
// briefly missing right must not let two managers write: the other one waits for less
// than this. A Lease that does not exist, and that nobody working for this binding has
// ever seen, is not waited for; unread is set if its existence is unknown.
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

// left is how much time a write has; false if unlimited.
func (h *hold) left() (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until.Sub(h.clock.Now()), h.fenced
}

// expired reports whether the Lease that we held was not renewed in time.
func (h *hold) expired() bool {
	left, fenced := h.left()
	return fenced && left <= 0
}

// held reports whether we hold the Lease, as far as we know.
func (h *hold) held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fenced && h.lease != nil && !h.until.IsZero()
}

// snapshot is the input of the decision.
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
