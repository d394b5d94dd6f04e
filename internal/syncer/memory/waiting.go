package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/decide"
)

// Waiting is which problem each object has, by its reason, and since when.
type Waiting struct {
	clock clock.PassiveClock
	since *Noted[waiting]
}

type waiting struct {
	reason string
	at     time.Time
}

// Since is the problem of an object, and for how long it has had it.
func (w *Waiting) Since(key types.NamespacedName) (reason string, waited time.Duration) {
	found := w.since.Get(key)
	if found.reason == "" {
		return "", 0
	}
	return found.reason, w.clock.Since(found.at)
}

// Note notes the problem of an object, or that it has none. Another problem begins
// anew: one that passes soon is not reported because of one that has lasted.
func (w *Waiting) Note(key types.NamespacedName, problem *decide.Problem) {
	if problem == nil {
		w.since.Drop(key)
	} else if w.since.Get(key).reason != problem.Reason {
		w.since.Set(key, waiting{problem.Reason, w.clock.Now()})
	}
}

// Unshown is when the first change of each remote object came in that the local one
// does not show yet.
type Unshown struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// Note notes that a change came in just now.
func (u *Unshown) Note(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.since[key]; !ok {
		u.since[key] = u.clock.Now()
	}
}

// Take is when the first change came in, or zero if there was none, and forgets it.
func (u *Unshown) Take(key types.NamespacedName) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.since[key]
	delete(u.since, key)
	return at
}

// Shown forgets a change that had come in when the object was observed, at that
// moment: there was nothing of it to show, or it is shown.
func (u *Unshown) Shown(key types.NamespacedName, observed time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if at, ok := u.since[key]; ok && !at.After(observed) {
		delete(u.since, key)
	}
}

func (u *Unshown) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.since, key)
}
