package work

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"github.com/spillway-io/spillway/internal/engine/decide"
)

// lane limits how many objects of a kind are reconciled at a time.
type lane struct {
	kind    string
	most    int
	backoff workqueue.TypedRateLimiter[decide.Key]

	mu sync.Mutex
	// places counts the places in use: by keys being reconciled, and by called keys.
	places int
	// called has keys that were set aside, and that now come back through the queue.
	called sets.Set[decide.Key]
	// aside has the keys for which there was no place, with their priorities. It is empty while a place is
	// free.
	aside map[decide.Key]int
	// order has the keys of aside, by priority. A key whose priority has risen is in two lists.
	order [Urgent + 1][]decide.Key
}

func newLane(kind string, most int, backoff workqueue.TypedRateLimiter[decide.Key]) *lane {
	metered().most.WithLabelValues(kind).Set(float64(most))
	metered().errors.WithLabelValues(kind) // The first error is an increase.
	return &lane{kind: kind, most: most, backoff: backoff, called: sets.Set[decide.Key]{}, aside: map[decide.Key]int{}}
}

// admit reports whether a key from the queue is reconciled now. Otherwise, admit sets it aside.
func (l *lane) admit(key decide.Key, priority int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.called.Has(key):
		l.called.Delete(key)
	case l.places < l.most:
		l.places++
	default:
		l.setAside(key, priority)
		return false
	}
	metered().active.WithLabelValues(l.kind).Inc()
	return true
}

func (l *lane) setAside(key decide.Key, priority int) {
	before, known := l.aside[key]
	if known && before >= priority {
		return
	}
	if known {
		metered().waiting(l.kind, before).Dec()
	}
	metered().waiting(l.kind, priority).Inc()
	l.aside[key] = priority
	l.order[priority] = append(l.order[priority], key)
}

// next gives the place of a key that was reconciled to the first key in aside, if any.
func (l *lane) next() (key decide.Key, priority int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	metered().active.WithLabelValues(l.kind).Dec()
	for priority := Urgent; priority >= Rest; priority-- {
		for len(l.order[priority]) > 0 {
			key, l.order[priority] = l.order[priority][0], l.order[priority][1:]
			if at, known := l.aside[key]; !known || at != priority {
				continue // Its priority has risen.
			}
			delete(l.aside, key)
			metered().waiting(l.kind, priority).Dec()
			l.called.Insert(key)
			return key, priority, true
		}
	}
	l.places--
	return decide.Key{}, Rest, false
}

// drop removes the keys in aside from the metrics.
func (l *lane) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, priority := range l.aside {
		metered().waiting(l.kind, priority).Dec()
	}
	l.aside = nil
}

// backoff delegates to the back-off of each kind.
type backoff map[string]*lane

// When implements workqueue.TypedRateLimiter.
func (b backoff) When(key decide.Key) time.Duration { return b[key.Kind].backoff.When(key) }

// Forget implements workqueue.TypedRateLimiter.
func (b backoff) Forget(key decide.Key) { b[key.Kind].backoff.Forget(key) }

// NumRequeues implements workqueue.TypedRateLimiter.
func (b backoff) NumRequeues(key decide.Key) int { return b[key.Kind].backoff.NumRequeues(key) }
