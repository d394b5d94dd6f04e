package fleet

import (
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/provider/lease"
)

// raiseInterval is how often the generation of a Lease is raised. A copy of the consumer younger than the last
// raise looks like the original.
const raiseInterval = time.Hour

// refusedDurations is the number of Lease durations for which the provider must refuse the Lease to a former
// holder before that holder continues without it.
const refusedDurations = 4

// NewIdentity returns a manager's identity: its host, and a unique number.
func NewIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return host + "_" + string(uuid.NewUUID())
}

// leaseState is what a connection knows about its Lease in the provider. It outlives the sessions, since it may
// take longer than one session to see that another holder is gone.
type leaseState struct {
	clock    clock.PassiveClock
	duration time.Duration
	// news is filled when the ClusterBinding records something new.
	news chan struct{}

	mu    sync.Mutex
	lease *coordinationv1.Lease // As last seen. Nil if there is none.
	// since is when this manager first saw this version. renewed is set if it replaced a version seen before.
	since   time.Time
	renewed bool
	raised  time.Time // When the generation last rose.

	recorded v1alpha1.HolderStatus
	takeOver string

	// refused is since when the provider has denied the Lease.
	refused time.Time
	// denial is why this manager may not have the Lease, as last read, or nil.
	denial error
}

// record notes what the ClusterBinding says now.
func (h *leaseState) record(recorded v1alpha1.HolderStatus, takeOver string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.recorded == recorded && h.takeOver == takeOver {
		return
	}
	h.recorded, h.takeOver = recorded, takeOver
	h.wake()
}

// remembered returns what the ClusterBinding says.
func (h *leaseState) remembered() (recorded v1alpha1.HolderStatus, takeOver string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.recorded, h.takeOver
}

// wake makes sure that the Lease is checked at once.
func (h *leaseState) wake() {
	select {
	case h.news <- struct{}{}:
	default: // It will be.
	}
}

// observe notes the provider's Lease, nil if there is none. It reports whether the Lease is older than before, or
// gone. Then the provider's etcd was restored from a backup, and a watch that continues from a future version
// shows nothing. A Lease that somebody deleted looks the same as one that a backup lacks.
func (h *leaseState) observe(lease *coordinationv1.Lease) (wentBack bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.lease
	switch {
	case lease == nil:
		h.lease, h.renewed = nil, false
		return before != nil
	case before == nil || before.UID != lease.UID:
		h.lease, h.renewed, h.since = lease, false, h.clock.Now()
	case before.ResourceVersion != lease.ResourceVersion:
		h.lease, h.renewed, h.since = lease, true, h.clock.Now()
	}
	return before != nil && ownwrites.Older(lease, before)
}

// noteWritten notes a written Lease, and whether its generation has risen.
func (h *leaseState) noteWritten(lease *coordinationv1.Lease, raised bool) {
	h.observe(lease)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = time.Time{}
	if raised {
		h.raised = h.clock.Now()
	}
}

// lastSeen returns the Lease as last seen, or nil if there is none.
func (h *leaseState) lastSeen() *coordinationv1.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

// setDenial notes why this manager may not have the Lease. Nil means that it may.
func (h *leaseState) setDenial(verdict error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.denial = verdict
}

// currentDenial returns why this manager could not have the Lease when it last read it. That holds until the next
// read: an unreadable Lease is not free.
func (h *leaseState) currentDenial() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.denial
}

// inGracePeriod reports whether a refusal of the Lease is too recent to continue without it. A briefly missing
// right must not let two managers write: the other one waits for less than this. Nobody waits for a Lease that
// does not exist and that no manager of this binding has ever seen. unread is set if it is unknown whether the
// Lease exists.
func (h *leaseState) inGracePeriod(unread bool) bool {
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

// snapshot returns the part of the decision's input that the leaseState knows.
func (h *leaseState) snapshot() lease.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return lease.Snapshot{
		Lease: h.lease, Unchanged: h.clock.Now().Sub(h.since), Renewed: h.renewed, Recorded: h.recorded, TakeOver: h.takeOver,
		Duration: h.duration, RaiseDue: !h.raised.IsZero() && h.clock.Now().Sub(h.raised) >= raiseInterval,
	}
}
