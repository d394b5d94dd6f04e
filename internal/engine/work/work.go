// Package work reconciles the objects of all kinds of one connection.
//
// # How it works
//
// There is one queue, from controller-runtime. Its keys name a kind besides the object. One goroutine takes
// keys from the queue, and hands each to a worker that has just become free, or to a new one. Workers that stay
// free end, so an idle connection has none. Each kind may run a limited number at a time. Its other keys are
// pending (limiter). When one ends, the first pending key goes through the queue once more and is reconciled,
// urgent keys first. So a webhook that never answers for Secrets uses up the limit of Secrets, and delays no pod.
//
// The rest is as in controller-runtime's controllers. No key is reconciled twice at a time. A key that is
// enqueued meanwhile is reconciled again. Errors are retried with back-off, panics count as errors, and the
// metrics are the same, by kind.
package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/engine/decide"
)

// The priorities of keys.
const (
	Normal = iota
	// Urgent keys go before the rest of their kind.
	Urgent
)

// name is the name of all connections' queues in metrics.
const name = "sync"

// Workers reconcile the objects of one connection.
type Workers struct {
	do       reconcile.TypedReconciler[decide.Key]
	queue    priorityqueue.PriorityQueue[decide.Key]
	limiters map[string]*limiter // By kind.
	passes   sync.WaitGroup
	free     chan job      // To a worker that is free.
	began    sync.Map      // When the pass of a key began.
	id       atomic.Uint64 // Of the last reconcile, for the log.
}

// job is a key to reconcile, with its priority.
type job struct {
	key      decide.Key
	priority int
}

// freeFor is how long a worker waits for the next key before it ends. A goroutine's stack grows during its first
// reconcile, which takes longer than the start of the goroutine.
const freeFor = time.Second

// New returns Workers that call do. Add must be called for each kind.
func New(do reconcile.TypedReconciler[decide.Key]) *Workers {
	return &Workers{do: do, limiters: map[string]*limiter{}, free: make(chan job)}
}

// Add adds a kind. At most that many of its objects are reconciled at a time. After an error, backoff says how
// long an object waits. Add must not be called after Run.
func (w *Workers) Add(kind string, most int, backoff workqueue.TypedRateLimiter[decide.Key]) {
	w.limiters[kind] = newLimiter(kind, most, backoff)
}

// Enqueue enqueues objects. It must not be called before Run calls start. It ignores kinds that were not added.
func (w *Workers) Enqueue(priority int, keys ...decide.Key) {
	known := slices.DeleteFunc(slices.Clone(keys), func(key decide.Key) bool { return w.limiters[key.Kind] == nil })
	w.queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, known...)
}

// Run calls start, which may enqueue, and then reconciles until ctx ends. It returns when the last reconcile
// has ended.
func (w *Workers) Run(ctx context.Context, start func(context.Context) error) error {
	w.queue = priorityqueue.New("", func(o *priorityqueue.Opts[decide.Key]) { // A queue with a name wakes up twice a second for its own metrics.
		o.Log, o.RateLimiter = log.FromContext(ctx), backoff(w.limiters)
	})
	return w.run(ctx, start)
}

func (w *Workers) run(ctx context.Context, start func(context.Context) error) error {
	// The queue must not shut down while something waits for a key: it may be about to hand one over, and would
	// then hold its lock for ever. So the end of ctx adds a last key.
	defer w.queue.ShutDown()
	if err := start(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { w.queue.Add(decide.Key{}) })()
	live.Store(w, nil)
	defer live.Delete(w) // After drop, so that reconciles that do not end are measured.
	defer w.drop()
	for {
		key, priority, _ := w.queue.GetWithPriority()
		if ctx.Err() != nil {
			return nil
		}
		if !w.limiters[key.Kind].admit(key, priority) {
			w.queue.Done(key)
			continue
		}
		select {
		case w.free <- job{key, priority}:
		default:
			w.passes.Go(func() { w.work(ctx, job{key, priority}) })
		}
	}
}

// work reconciles an object, and then others, until there has been none for a while.
func (w *Workers) work(ctx context.Context, next job) {
	timer := time.NewTimer(freeFor)
	defer timer.Stop()
	for {
		w.pass(ctx, next.key, next.priority)
		timer.Reset(freeFor)
		select {
		case next = <-w.free:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// drop waits until the last reconcile has ended, and forgets the pending keys.
func (w *Workers) drop() {
	w.passes.Wait()
	for _, lane := range w.limiters {
		lane.drop()
	}
}

// pass reconciles an object. Then it sends the next pending key through the queue again.
func (w *Workers) pass(ctx context.Context, key decide.Key, priority int) {
	w.reconcile(ctx, key, priority)
	w.queue.Done(key)
	if next, priority, ok := w.limiters[key.Kind].next(); ok {
		w.queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, next)
	}
}

// reconcile does what controller-runtime's controllers do with a key.
func (w *Workers) reconcile(ctx context.Context, key decide.Key, priority int) {
	w.began.Store(key, time.Now())
	defer w.began.Delete(key)
	defer prometheus.NewTimer(metered().seconds.WithLabelValues(key.Kind)).ObserveDuration()
	logger := log.FromContext(ctx).WithValues("controller", key.Kind, "namespace", key.Namespace, "name", key.Name, "reconcileID", w.id.Add(1))
	result, err := w.recovered(log.IntoContext(ctx, logger), key)
	switch {
	case err != nil:
		if !errors.Is(err, reconcile.TerminalError(nil)) {
			w.queue.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: &priority}, key)
		}
		metered().errors.WithLabelValues(key.Kind).Inc()
		metered().ended(key.Kind, "error")
		logger.Error(err, "Reconciler error")
	case result.RequeueAfter > 0:
		w.queue.Forget(key) // The back-off is for failures.
		w.queue.AddWithOpts(priorityqueue.AddOpts{After: result.RequeueAfter, Priority: &priority}, key)
		metered().ended(key.Kind, "requeue_after")
	default:
		w.queue.Forget(key)
		metered().ended(key.Kind, "success")
	}
}

// recovered turns a panic into an error.
func (w *Workers) recovered(ctx context.Context, key decide.Key) (_ reconcile.Result, err error) {
	defer func() {
		if r := recover(); r != nil {
			metered().panics.WithLabelValues(key.Kind).Inc()
			for _, handle := range utilruntime.PanicHandlers {
				handle(ctx, r)
			}
			err = fmt.Errorf("panic: %v [recovered]", r)
		}
	}()
	return w.do.Reconcile(ctx, key)
}
