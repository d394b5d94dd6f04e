package work

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"github.com/spillway-io/spillway/internal/engine/decide"
)

// limiter limits how many objects of a kind are reconciled at a time.
type limiter struct {
	kind    string
	most    int
	backoff workqueue.TypedRateLimiter[decide.Key]

	mu sync.Mutex
	// active counts the keys that are being reconciled or requeued.
	active int
	// requeued has keys that were pending, and that now come back through the queue.
	requeued sets.Set[decide.Key]
	// pending has the keys that exceed the limit, with their priorities. It is empty while fewer than most are
	// active.
	pending map[decide.Key]int
	// pendingOrder has the keys of pending, by priority. A key whose priority has risen is in two lists.
	pendingOrder [Urgent + 1][]decide.Key
}

func newLimiter(kind string, most int, backoff workqueue.TypedRateLimiter[decide.Key]) *limiter {
	metered().most.WithLabelValues(kind).Set(float64(most))
	metered().errors.WithLabelValues(kind) // The first error is an increase.
	return &limiter{kind: kind, most: most, backoff: backoff, requeued: sets.Set[decide.Key]{}, pending: map[decide.Key]int{}}
}

// admit reports whether a key from the queue is reconciled now. Otherwise, it is pending.
func (l *limiter) admit(key decide.Key, priority int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.requeued.Has(key):
		l.requeued.Delete(key)
	case l.active < l.most:
		l.active++
	default:
		l.addPending(key, priority)
		return false
	}
	metered().active.WithLabelValues(l.kind).Inc()
	return true
}

func (l *limiter) addPending(key decide.Key, priority int) {
	before, known := l.pending[key]
	if known && before >= priority {
		return
	}
	if known {
		metered().waiting(l.kind, before).Dec()
	}
	metered().waiting(l.kind, priority).Inc()
	l.pending[key] = priority
	l.pendingOrder[priority] = append(l.pendingOrder[priority], key)
}

// next ends the reconcile of a key, and returns the first pending key, if any, to be reconciled instead.
func (l *limiter) next() (key decide.Key, priority int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	metered().active.WithLabelValues(l.kind).Dec()
	for priority := Urgent; priority >= Normal; priority-- {
		for len(l.pendingOrder[priority]) > 0 {
			key, l.pendingOrder[priority] = l.pendingOrder[priority][0], l.pendingOrder[priority][1:]
			if at, known := l.pending[key]; !known || at != priority {
				continue // Its priority has risen.
			}
			delete(l.pending, key)
			metered().waiting(l.kind, priority).Dec()
			l.requeued.Insert(key)
			return key, priority, true
		}
	}
	l.active--
	return decide.Key{}, Normal, false
}

// drop removes the pending keys from the metrics.
func (l *limiter) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, priority := range l.pending {
		metered().waiting(l.kind, priority).Dec()
	}
	l.pending = nil
}

// backoff delegates to the back-off of each kind.
type backoff map[string]*limiter

// When implements workqueue.TypedRateLimiter.
func (b backoff) When(key decide.Key) time.Duration { return b[key.Kind].backoff.When(key) }

// Forget implements workqueue.TypedRateLimiter.
func (b backoff) Forget(key decide.Key) { b[key.Kind].backoff.Forget(key) }

// NumRequeues implements workqueue.TypedRateLimiter.
func (b backoff) NumRequeues(key decide.Key) int { return b[key.Kind].backoff.NumRequeues(key) }
