package eviction

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// firstRetry and mostRetry pace the retries for a pod that the API server refuses to evict. The first waits
	// for firstRetry, each later one for twice as long, up to mostRetry. So a budget that releases one pod at a
	// time causes little extra delay. A thousand protected pods cost at most a hundred requests a second.
	firstRetry = 2 * time.Second
	mostRetry  = 10 * time.Second
	// assumed is how long an evicted pod counts as leaving although the view does not show it.
	assumed = 30 * time.Second
)

// Tries remembers the attempts to evict pods. It is lost with the process, which costs one request per refused
// pod.
type Tries struct {
	Clock clock.PassiveClock

	mu   sync.Mutex
	last map[Request]try
}

// try is the last attempt for a pod.
type try struct {
	uid      types.UID
	next     time.Time
	interval time.Duration
}

// Wait returns how long until the next attempt. It is zero if the attempt is due.
func (t *Tries) Wait(req Request, uid types.UID) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[req]
	if !ok || last.uid != uid {
		return 0
	}
	return max(0, last.next.Sub(t.Clock.Now()))
}

// Succeeded records that the pod is leaving, and returns how long that is assumed.
func (t *Tries) Succeeded(req Request, uid types.UID) time.Duration { return t.note(req, uid, assumed) }

// Refused records that the pod may not be evicted, and returns when to retry.
func (t *Tries) Refused(req Request, uid types.UID) time.Duration {
	t.mu.Lock()
	last := t.last[req]
	t.mu.Unlock()
	if last.uid != uid || last.interval == 0 {
		return t.note(req, uid, firstRetry)
	}
	return t.note(req, uid, min(2*last.interval, mostRetry))
}

func (t *Tries) note(req Request, uid types.UID, interval time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[Request]try{}
	}
	t.last[req] = try{uid, t.Clock.Now().Add(interval), interval}
	return interval
}

// Know reports whether anything is known about a pod.
func (t *Tries) Know(req Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.last[req]
	return ok
}

// Forget drops what is known about a pod that is gone or need not leave.
func (t *Tries) Forget(req Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, req)
}
