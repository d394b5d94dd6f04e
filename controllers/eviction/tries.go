package eviction

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// A pod that the API server refuses to evict is retried after firstRetry, then after
	// twice as long each time, up to mostRetry: a budget that releases one pod at a time
	// is not waited for much longer than needed, and a thousand pods that may not go cost
	// at most a hundred requests a second.
	firstRetry = 2 * time.Second
	mostRetry  = 10 * time.Second
	// assumed is how long an evicted pod is believed to be going although the view does
	// not show it.
	assumed = 30 * time.Second
)

// Tries remembers the tries to evict pods. It is lost with the process, which costs one
// request for each refused pod.
type Tries struct {
	Clock clock.PassiveClock

	mu   sync.Mutex
	last map[Request]try
}

// try is the last one for a pod.
type try struct {
	uid      types.UID
	next     time.Time
	interval time.Duration
}

// Wait is how long until the next try; zero if it is due.
func (t *Tries) Wait(req Request, uid types.UID) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[req]
	if !ok || last.uid != uid {
		return 0
	}
	return max(0, last.next.Sub(t.Clock.Now()))
}

// Succeeded records that the pod is going, and returns how long that is believed.
func (t *Tries) Succeeded(req Request, uid types.UID) time.Duration { return t.note(req, uid, assumed) }

// Refused records that the pod may not go, and returns when to retry.
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
