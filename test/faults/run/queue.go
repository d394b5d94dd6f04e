package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// job is a run, and what to do with its outcome.
type job struct {
	Run
	// then is called with the outcome, by one lane at a time. It returns the jobs that follow.
	then func(*Outcome) []job
}

// queue hands out jobs to all lanes, in their order.
type queue struct {
	lanes []*Lane
	log   io.Writer

	mu                sync.Mutex
	more              *sync.Cond
	jobs              []job
	total, done, busy int
	diverged          int
	again             int // Runs that were repeated because the harness had failed.
	began             time.Time
	failed            error
}

// progressEvery is how often the progress is printed.
const progressEvery = 15 * time.Second

// tries is how often a run is tried that gives no result because the harness failed: one of its watches
// broke, or an API server did not answer.
const tries = 3

// work plays all jobs, and those that follow from them.
func (q *queue) work(ctx context.Context, jobs []job) error {
	q.more, q.began, q.jobs, q.total = sync.NewCond(&q.mu), time.Now(), jobs, len(jobs)
	interrupted := ctx.Err // The queue's own context is cancelled in the end.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var told sync.WaitGroup
	told.Go(func() { q.tell(ctx) })
	var group sync.WaitGroup
	for _, lane := range q.lanes {
		group.Go(func() {
			for {
				next, ok := q.take(ctx)
				if !ok {
					return
				}
				q.play(ctx, lane, next)
			}
		})
	}
	group.Wait()
	cancel()
	told.Wait()
	q.progress()
	return cmp.Or(q.failed, interrupted())
}

// take returns the next job. It waits while a running job may still add some.
func (q *queue) take(ctx context.Context) (job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.jobs) == 0 && q.busy > 0 {
		q.more.Wait()
	}
	if len(q.jobs) == 0 || q.failed != nil || ctx.Err() != nil {
		q.jobs = nil
		q.more.Broadcast()
		return job{}, false
	}
	next := q.jobs[0]
	q.jobs = q.jobs[1:]
	q.busy++
	return next, true
}

func (q *queue) play(ctx context.Context, lane *Lane, next job) {
	outcome, failures, err := lane.persist(ctx, next.Run, q.log)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.again += failures
	q.busy--
	q.done++
	q.more.Broadcast()
	if err != nil {
		if q.failed == nil {
			q.failed = err
		}
		return
	}
	if len(outcome.Problems) > 0 {
		q.diverged++
	}
	if next.then != nil {
		more := next.then(outcome)
		q.jobs = append(q.jobs, more...)
		q.total += len(more)
	}
}

// persist plays a run until it gives a result, and returns how often it gave none.
func (l *Lane) persist(ctx context.Context, r Run, log io.Writer) (o *Outcome, failures int, err error) {
	for range tries {
		if o, err = l.Play(ctx, r); err == nil {
			return o, failures, nil
		}
		err = fmt.Errorf("scenario %s, %q: %w", r.Scenario.Name, r.Recipe, err)
		if ctx.Err() != nil {
			break
		}
		fmt.Fprintf(log, "lane %d: nothing can be said: %v\n", l.Index, err)
		failures++
	}
	return nil, failures, err
}

func (q *queue) tell(ctx context.Context) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			q.progress()
		}
	}
}

func (q *queue) progress() {
	q.mu.Lock()
	defer q.mu.Unlock()
	took := time.Since(q.began)
	left := "unknown"
	if q.done > 0 {
		left = (took / time.Duration(q.done) * time.Duration(q.total-q.done)).Round(time.Second).String()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(q.log, "%s: %d of %d runs, %d divergences, about %s left (%d goroutines, heap %d MiB)\n",
		took.Round(time.Second), q.done, q.total, q.diverged, left, runtime.NumGoroutine(), memory.HeapAlloc>>20)
}
