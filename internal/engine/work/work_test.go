package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
)

func key(kind, name string) decide.Key {
	return decide.Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: "team", Name: name}}
}

// running are Workers whose reconciles a test sees begin, and ends.
type running struct {
	*Workers
	begun chan decide.Key
	end   chan error // One value for each reconcile that should end.
	stop  func()
	ended chan error
}

// start starts Workers with these limits per kind. They end before the test does.
func start(t *testing.T, most map[string]int) *running {
	t.Helper()
	r := &running{begun: make(chan decide.Key), end: make(chan error), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	r.Workers = New(reconcile.TypedFunc[decide.Key](func(ctx context.Context, key decide.Key) (reconcile.Result, error) {
		select {
		case r.begun <- key:
		case <-ctx.Done():
			return reconcile.Result{}, nil
		}
		select {
		case err := <-r.end:
			return reconcile.Result{}, err
		case <-ctx.Done():
			return reconcile.Result{}, nil
		}
	}))
	for kind, most := range most {
		r.Add(kind, most, retry.Backoff[decide.Key]())
	}
	started := make(chan struct{})
	go func() { r.ended <- r.Run(ctx, func(context.Context) error { close(started); return nil }) }()
	<-started
	t.Cleanup(func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// settled waits until the queue is empty: all that was enqueued is active or pending.
func (r *running) settled(kind string, aside int) {
	l := r.limiters[kind]
	for {
		l.mu.Lock()
		n := len(l.pending)
		l.mu.Unlock()
		if n == aside {
			return
		}
		runtime.Gosched()
	}
}

// TestSlowKindHoldsNoOther checks that Secrets that never end delay only their own kind.
func TestSlowKindHoldsNoOther(t *testing.T) {
	r := start(t, map[string]int{"secret": 4, "pod": 16})
	for i := range 10 {
		r.Enqueue(Normal, key("secret", fmt.Sprint(i)))
	}
	for range 4 {
		if got := <-r.begun; got.Kind != "secret" {
			t.Errorf("%s has begun", got)
		}
	}
	r.settled("secret", 6)
	r.Enqueue(Normal, key("secret", "late"), key("lease", "of a kind that nobody knows"), key("pod", "web"))
	if got := <-r.begun; got != key("pod", "web") {
		t.Errorf("%s has begun", got)
	}
	r.settled("secret", 7)
}

// TestUrgentOvertakesWhatIsSetAside checks that pending keys start in order, but urgent keys first. That
// includes keys that became urgent while they were pending.
func TestUrgentOvertakesWhatIsSetAside(t *testing.T) {
	r := start(t, map[string]int{"pod": 1})
	r.Enqueue(Normal, key("pod", "first"))
	<-r.begun
	r.Enqueue(Normal, key("pod", "a"), key("pod", "b"), key("pod", "c"), key("pod", "d"))
	r.settled("pod", 4)
	r.Enqueue(Urgent, key("pod", "c"))
	r.Enqueue(Urgent, key("pod", "e"))
	r.settled("pod", 5)
	r.Enqueue(Normal, key("pod", "e"), key("pod", "b"), key("pod", "f"))
	r.settled("pod", 6)
	var order []string
	for range 6 {
		r.end <- nil
		got := <-r.begun
		order = append(order, got.Name)
	}
	if diff := cmp.Diff([]string{"c", "e", "a", "b", "d", "f"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestUrgentBeforeTheRest checks the same for the queue.
func TestUrgentBeforeTheRest(t *testing.T) {
	w := New(nil)
	w.Add("pod", 1, retry.Backoff[decide.Key]())
	w.queue = priorityqueue.New[decide.Key]("")
	defer w.queue.ShutDown()
	w.Enqueue(Normal, key("pod", "first"), key("pod", "second"), key("pod", "third"))
	w.Enqueue(Urgent, key("pod", "third"), key("pod", "fourth"))
	w.Enqueue(Normal, key("pod", "fourth"))
	var order []string
	for range 4 {
		key, _, _ := w.queue.GetWithPriority()
		order = append(order, key.Name)
	}
	if diff := cmp.Diff([]string{"third", "fourth", "first", "second"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestNoIdleWorkers checks that idle Workers cost one goroutine, besides the queue's. The queue must have no
// ticker for metrics, which would be a sixth goroutine.
func TestNoIdleWorkers(t *testing.T) {
	ours := func() (n int) {
		stacks := make([]byte, 1<<20)
		for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "internal/engine/work.(*Workers)") || strings.Contains(stack, "priorityqueue.(*priorityqueue") {
				n++
			}
		}
		return n
	}
	is := func(want int) {
		t.Helper()
		for ours() != want { // Goroutines of earlier tests may still be ending.
			runtime.Gosched()
		}
	}
	is(0)
	r := start(t, map[string]int{"pod": 16, "secret": 4})
	is(5)
	r.Enqueue(Normal, key("pod", "web"))
	<-r.begun
	is(6)
	r.end <- nil
	is(5)
	r.stop()
	is(0)
}

// TestEnd checks that nothing starts after the connection has ended, and that nothing is left behind.
func TestEnd(t *testing.T) {
	r := start(t, map[string]int{"pod": 2})
	for i := range 5 {
		r.Enqueue(Normal, key("pod", fmt.Sprint(i)))
	}
	<-r.begun
	<-r.begun
	r.settled("pod", 3)
	r.stop()
	err := <-r.ended
	r.ended <- err
	select {
	case got := <-r.begun:
		t.Errorf("%s has begun", got)
	default:
	}
	r.Enqueue(Normal, key("pod", "late"))
	if waits := value(t, "workqueue_depth", "name", "pod"); waits != 0 {
		t.Errorf("%v wait, by the metrics", waits)
	}
}

// TestEndsAtAnyTime checks that Workers can end even while the queue hands over a key.
func TestEndsAtAnyTime(t *testing.T) {
	for range 500 {
		w := New(reconcile.TypedFunc[decide.Key](func(context.Context, decide.Key) (reconcile.Result, error) { return reconcile.Result{}, nil }))
		w.Add("pod", 2, retry.Backoff[decide.Key]())
		ctx, cancel := context.WithCancel(t.Context())
		err := w.Run(ctx, func(context.Context) error {
			go cancel()
			for i := range 20 {
				go w.Enqueue(Normal, key("pod", fmt.Sprint(i)))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackoff checks that each kind has its own back-off.
func TestBackoff(t *testing.T) {
	w := New(nil)
	w.Add("pod", 1, workqueue.NewTypedItemExponentialFailureRateLimiter[decide.Key](time.Second, time.Minute))
	w.Add("secret", 1, workqueue.NewTypedItemExponentialFailureRateLimiter[decide.Key](time.Minute, time.Hour))
	all := backoff(w.limiters)
	for i, step := range []struct {
		of   decide.Key
		want time.Duration
	}{
		{key("pod", "a"), time.Second},
		{key("pod", "a"), 2 * time.Second},
		{key("secret", "a"), time.Minute},
		{key("pod", "a"), 4 * time.Second},
		{key("secret", "a"), 2 * time.Minute},
	} {
		if got := all.When(step.of); got != step.want {
			t.Errorf("failure %d, of %s: waits %s, want %s", i+1, step.of, got, step.want)
		}
	}
	all.Forget(key("pod", "a"))
	if pods, secrets := all.NumRequeues(key("pod", "a")), all.NumRequeues(key("secret", "a")); pods != 0 || secrets != 2 {
		t.Errorf("%d failures of the pod, %d of the Secret", pods, secrets)
	}
}

// TestStartFails checks that a failed watch ends everything.
func TestStartFails(t *testing.T) {
	failure := errors.New("no watch")
	if err := New(nil).Run(t.Context(), func(context.Context) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}

// value returns the sum of the metrics of a name with a label.
func value(t *testing.T, name, label, is string) (sum float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, pair := range metric.GetLabel() {
				if family.GetName() == name && pair.GetName() == label && pair.GetValue() == is {
					sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return sum
}

// TestMetrics checks that the metrics are controller-runtime's, and count the keys that wait.
func TestMetrics(t *testing.T) {
	metered := fmt.Sprintf("metered-%d", rand.Int())
	r := start(t, map[string]int{metered: 1})
	for name, want := range map[string]float64{"controller_runtime_max_concurrent_reconciles": 1, "controller_runtime_active_workers": 0} {
		if got := value(t, name, "controller", metered); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	r.Enqueue(Normal, key(metered, "a"))
	<-r.begun
	r.Enqueue(Normal, key(metered, "b"))
	r.settled(metered, 1)
	r.Enqueue(Urgent, key(metered, "b"), key(metered, "c"))
	r.settled(metered, 2)
	for name, want := range map[string]float64{"workqueue_depth": 2, "controller_runtime_active_workers": 1} {
		if got := value(t, name, "controller", metered); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	r.end <- errors.New("no")
	<-r.begun // The next one begins when everything is counted.
	for name, want := range map[string]float64{
		"controller_runtime_reconcile_total": 1, "controller_runtime_reconcile_errors_total": 1, "controller_runtime_reconcile_time_seconds": 1,
		"controller_runtime_reconcile_panics_total": 0, "workqueue_depth": 1,
	} {
		if got := value(t, name, "controller", metered); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// TestMetricsOfAllQueues checks the number of keys that wait in all queues, and the longest run in any of them.
func TestMetricsOfAllQueues(t *testing.T) {
	is := func(waits float64, hangs bool) {
		t.Helper()
		if got := value(t, "workqueue_depth", "name", name); got != waits {
			t.Errorf("%v wait, want %v", got, waits)
		}
		if got := value(t, "workqueue_longest_running_processor_seconds", "name", name); got > 0 != hangs {
			t.Errorf("the longest has run for %v s", got)
		}
	}
	is(0, false)
	a, b := start(t, map[string]int{"pod": 1}), start(t, map[string]int{"pod": 1})
	is(0, false)
	for _, r := range []*running{a, b} {
		r.Enqueue(Normal, key("pod", "web"))
		<-r.begun
		r.Enqueue(Normal, key("pod", "web")) // It waits until its own reconcile has ended.
	}
	is(2, true)
	a.stop()
	a.ended <- <-a.ended
	is(1, true)
	b.stop()
	b.ended <- <-b.ended
	is(0, false)
}

// recorded is a queue with one key, which records the calls to it.
type recorded struct {
	priorityqueue.PriorityQueue[decide.Key]
	mu    sync.Mutex
	calls []string
	done  chan struct{}
}

func newRecorded() *recorded {
	return &recorded{PriorityQueue: priorityqueue.New[decide.Key](""), done: make(chan struct{})}
}

func (r *recorded) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *recorded) AddWithOpts(o priorityqueue.AddOpts, keys ...decide.Key) {
	r.note("add %v after %s, limited %t, priority %d", keys, o.After, o.RateLimited, ptr.Deref(o.Priority, 0))
}

func (r *recorded) Forget(key decide.Key) { r.note("forget %s", key) }

func (r *recorded) Done(key decide.Key) {
	r.note("done %s", key)
	r.PriorityQueue.Done(key)
	close(r.done)
}

// TestAsControllers checks that, after each result of a reconcile, Workers call the queue as
// controller-runtime's controllers do.
func TestAsControllers(t *testing.T) {
	of := key("pod", "web")
	for name, do := range map[string]func() (reconcile.Result, error){
		"success":            func() (reconcile.Result, error) { return reconcile.Result{}, nil },
		"again after a time": func() (reconcile.Result, error) { return reconcile.Result{RequeueAfter: time.Minute}, nil },
		"error":              func() (reconcile.Result, error) { return reconcile.Result{}, errors.New("no") },
		"error and a time":   func() (reconcile.Result, error) { return reconcile.Result{RequeueAfter: time.Minute}, errors.New("no") },
		"terminal error":     func() (reconcile.Result, error) { return reconcile.Result{}, reconcile.TerminalError(errors.New("no")) },
		"panic":              func() (reconcile.Result, error) { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			reconciler := reconcile.TypedFunc[decide.Key](func(context.Context, decide.Key) (reconcile.Result, error) { return do() })
			run := func(start func(ctx context.Context, queue *recorded) error) []string {
				queue := newRecorded()
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- start(ctx, queue) }()
				queue.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(Urgent)}, of)
				<-queue.done
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				return queue.calls
			}
			want := run(func(ctx context.Context, queue *recorded) error {
				theirs, err := controller.NewTypedUnmanaged("pod", controller.TypedOptions[decide.Key]{
					Reconciler: reconciler, SkipNameValidation: ptr.To(true),
					NewQueue: func(string, workqueue.TypedRateLimiter[decide.Key]) workqueue.TypedRateLimitingInterface[decide.Key] {
						return queue
					},
				})
				if err != nil {
					return err
				}
				return theirs.Start(ctx)
			})
			got := run(func(ctx context.Context, queue *recorded) error {
				w := New(reconciler)
				w.Add("pod", 1, retry.Backoff[decide.Key]())
				w.queue = queue
				return w.run(ctx, func(context.Context) error { return nil })
			})
			if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
				t.Errorf("calls (-controller-runtime's +got):\n%s", diff)
			}
		})
	}
}

// model counts what is reconciled.
type model struct {
	mu       sync.Mutex
	versions map[decide.Key]int // Of what was enqueued last.
	seen     map[decide.Key]int
	at       map[decide.Key]bool
	kinds    map[string]int
	wrong    []string
	changed  *sync.Cond
}

func (m *model) Reconcile(_ context.Context, key decide.Key) (reconcile.Result, error) {
	m.mu.Lock()
	version := m.versions[key]
	if m.at[key] {
		m.wrong = append(m.wrong, key.String()+" twice at a time")
	}
	m.at[key] = true
	if m.kinds[key.Kind]++; m.kinds[key.Kind] > 3 {
		m.wrong = append(m.wrong, "too many of "+key.Kind)
	}
	m.mu.Unlock()
	for range rand.IntN(20) {
		runtime.Gosched()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[key] = version
	m.at[key] = false
	m.kinds[key.Kind]--
	m.changed.Broadcast()
	switch rand.IntN(200) {
	case 0:
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil
	case 1:
		return reconcile.Result{}, errors.New("by chance")
	case 2:
		panic("by chance")
	}
	return reconcile.Result{}, nil
}

// TestAnyOrder enqueues at random. No key is reconciled twice at a time, no kind exceeds its limit,
// and each key is reconciled after it was last enqueued.
func TestAnyOrder(t *testing.T) {
	m := &model{versions: map[decide.Key]int{}, seen: map[decide.Key]int{}, at: map[decide.Key]bool{}, kinds: map[string]int{}}
	m.changed = sync.NewCond(&m.mu)
	w := New(m)
	w.Add("pod", 3, retry.Backoff[decide.Key]())
	w.Add("secret", 3, retry.Backoff[decide.Key]())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	started := make(chan struct{})
	go func() { ended <- w.Run(ctx, func(context.Context) error { close(started); return nil }) }()
	<-started
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5000 {
				of := key([]string{"pod", "secret"}[rand.IntN(2)], fmt.Sprint(rand.IntN(30)))
				m.mu.Lock()
				m.versions[of]++
				m.mu.Unlock()
				w.Enqueue(rand.IntN(2), of)
			}
		})
	}
	all.Wait()
	m.mu.Lock()
	for !maps.Equal(m.versions, m.seen) {
		m.changed.Wait()
	}
	m.mu.Unlock()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if slices.Sort(m.wrong); len(m.wrong) > 0 {
		t.Errorf("%d mistakes: %v", len(m.wrong), slices.Compact(m.wrong))
	}
}

// TestFreeWorker checks that a worker takes another key, and ends if none comes.
func TestFreeWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reconciled []decide.Key
		w := New(reconcile.TypedFunc[decide.Key](func(_ context.Context, key decide.Key) (reconcile.Result, error) {
			reconciled = append(reconciled, key)
			return reconcile.Result{}, nil
		}))
		w.Add("pod", 2, retry.Backoff[decide.Key]())
		w.queue = priorityqueue.New("", func(o *priorityqueue.Opts[decide.Key]) { o.RateLimiter = backoff(w.limiters) })
		defer w.queue.ShutDown()
		first, second := key("pod", "first"), key("pod", "second")
		for _, key := range []decide.Key{first, second} {
			w.limiters["pod"].admit(key, Normal)
		}
		go w.work(t.Context(), job{first, Normal})
		synctest.Wait()
		select {
		case w.free <- job{second, Normal}:
		default:
			t.Error("no worker is free")
		}
		time.Sleep(freeFor + time.Millisecond)
		synctest.Wait()
		select {
		case w.free <- job{first, Normal}:
			t.Error("a worker is left")
		default:
		}
		if diff := cmp.Diff([]decide.Key{first, second}, reconciled); diff != "" {
			t.Errorf("reconciled (-want +got):\n%s", diff)
		}
	})
}
