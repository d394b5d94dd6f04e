package fleet

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// fence bounds the writes in the provider by the Lease: it knows until when they may be sent, and which are in
// progress. It outlives the sessions.
type fence struct {
	clock    clock.PassiveClock
	duration time.Duration // Of the Lease.

	mu sync.Mutex
	// lifted is set for a provider that denies the manager a Lease: then writes have no deadline.
	lifted bool
	until  time.Time // When writing must have stopped. Zero if the manager does not hold the Lease.

	// under counts the writes in progress. idle is closed when none is left. brokenOff is when a
	// write last ended without an answer.
	under     int
	idle      chan struct{}
	brokenOff time.Time

	// followers are called when writes are allowed again.
	followers map[*func()]bool
}

// extend allows writes after a renewal of the Lease that began at that time. Nobody can have seen the renewal
// earlier.
func (f *fence) extend(began time.Time) { f.open(false, began.Add(f.duration*4/5)) }

// lift allows writes without a Lease.
func (f *fence) lift() { f.open(true, time.Time{}) }

// open allows writes. It calls the followers if none were allowed just before.
func (f *fence) open(lifted bool, until time.Time) {
	f.mu.Lock()
	before := f.allows()
	f.lifted, f.until = lifted, until
	var followers []func()
	if !before && f.allows() {
		for follower := range f.followers {
			followers = append(followers, *follower)
		}
	}
	f.mu.Unlock()
	for _, follower := range followers { // Without the lock: they may ask whether writes are allowed.
		follower()
	}
}

// allows reports whether writes are allowed now. The caller holds the lock.
func (f *fence) allows() bool { return f.lifted || f.until.After(f.clock.Now()) }

// follow calls the follower whenever writes are allowed again, until ctx ends.
func (f *fence) follow(ctx context.Context, follower func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers == nil {
		f.followers = map[*func()]bool{}
	}
	f.followers[&follower] = true
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.followers, &follower)
	})
}

// drop refuses writes from now on, and reports whether the manager held the Lease.
func (f *fence) drop() (held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held = !f.lifted && f.until.After(f.clock.Now())
	f.lifted, f.until = false, time.Time{}
	return held
}

// remaining returns how much time a write has. The second result is false if the time is unlimited.
func (f *fence) remaining() (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until.Sub(f.clock.Now()), !f.lifted
}

// expired reports whether the manager held the Lease and did not renew it in time.
func (f *fence) expired() bool {
	left, fenced := f.remaining()
	return fenced && left <= 0
}

// overdue reports whether the manager has held the Lease since the last drop, and did not renew it in time.
func (f *fence) overdue() bool { return f.held() && f.expired() }

// held reports whether the manager has held the Lease since the last drop.
func (f *fence) held() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.until.IsZero()
}

// writing notes that a write is being sent.
func (f *fence) writing() (ended func(answered bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.under++
	return func(answered bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !answered {
			f.brokenOff = f.clock.Now()
		}
		if f.under--; f.under == 0 && f.idle != nil {
			close(f.idle)
			f.idle = nil
		}
	}
}

// settled waits until no write is in progress, and reports whether all recent ones were answered. An unanswered
// write may still take effect, for as long as a successor waits when it finds the Lease.
func (f *fence) settled(ctx context.Context) bool {
	f.mu.Lock()
	if f.under > 0 && f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			return false
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.brokenOff.IsZero() || f.clock.Now().Sub(f.brokenOff) >= f.duration
}
