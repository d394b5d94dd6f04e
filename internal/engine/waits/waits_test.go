package waits

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/work"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

func key(kind, name string) decide.Key {
	return decide.Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: "team", Name: name}}
}

var (
	web, db, idle = key("pod", "web"), key("pod", "db"), key("pod", "idle")
	settings      = key("configmap", "settings")
)

// waiters has the pods web, db and idle, which need the ConfigMap settings. It records what is enqueued.
type waiters struct {
	*Waits
	enqueued []string
	failure  error
}

func newWaiters() *waiters {
	w := &waiters{}
	w.Waits = New(func(keys ...decide.Key) {
		for _, key := range keys {
			w.enqueued = append(w.enqueued, key.Name)
		}
		slices.Sort(w.enqueued)
		w.enqueued = slices.Compact(w.enqueued)
	}, func(context.Context, decide.Key) ([]decide.Key, error) { return []decide.Key{web, db, idle}, w.failure })
	return w
}

// asks makes a pod ask for settings, and calls meanwhile during the look.
func (w *waiters) asks(t *testing.T, who decide.Key, ready, there bool, meanwhile func()) {
	t.Helper()
	need, err := w.Ask(who, settings, func() (decide.Need, bool, error) {
		meanwhile()
		return decide.Need{Ready: ready}, there, nil
	})
	if err != nil || need.Ready != ready {
		t.Errorf("got %v, %v", need, err)
	}
}

// TestEnded checks who is enqueued after the ConfigMap was reconciled.
func TestEnded(t *testing.T) {
	problem := &field.Problem{Reason: "Rejected", Message: "no"}
	nothing := func() {}
	for name, test := range map[string]struct {
		before  func(t *testing.T, w *waiters)
		verdict *field.Problem
		want    []string
	}{
		"nobody waits":            {func(*testing.T, *waiters) {}, nil, nil},
		"one waits":               {func(t *testing.T, w *waiters) { w.asks(t, web, false, true, nothing) }, nil, []string{"web"}},
		"one has found it ready":  {func(t *testing.T, w *waiters) { w.asks(t, web, true, true, nothing) }, nil, nil},
		"it was not there":        {func(t *testing.T, w *waiters) { w.asks(t, web, false, false, nothing) }, nil, nil},
		"one waits, and is gone":  {func(t *testing.T, w *waiters) { w.asks(t, web, false, true, nothing); w.Forget(web) }, nil, nil},
		"it was written":          {func(_ *testing.T, w *waiters) { w.NoteWrite(settings) }, nil, []string{"db", "idle", "web"}},
		"another one was written": {func(_ *testing.T, w *waiters) { w.NoteWrite(key("configmap", "more")) }, nil, nil},
		"it has a problem":        {func(*testing.T, *waiters) {}, problem, []string{"db", "idle", "web"}},
		"one waited before, and so did": {func(t *testing.T, w *waiters) {
			w.asks(t, web, false, true, nothing)
			w.asks(t, db, false, true, nothing)
		}, nil, []string{"db", "web"}},
		"another look, which finds it ready, does not end the wait": {func(t *testing.T, w *waiters) {
			w.asks(t, web, true, true, func() { w.asks(t, web, false, true, nothing) })
		}, nil, []string{"web"}},
		"it ends while another one looks": {func(t *testing.T, w *waiters) {
			w.asks(t, web, false, true, func() {
				if err := w.Reconciled(t.Context(), settings, nil); err != nil || len(w.enqueued) != 1 {
					t.Errorf("nobody comes to know: %v, %v", w.enqueued, err)
				}
			})
		}, nil, []string{"web"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWaiters()
			test.before(t, w)
			if err := w.Reconciled(t.Context(), settings, test.verdict); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, w.enqueued); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
			w.enqueued = nil
			if err := w.Reconciled(t.Context(), settings, test.verdict); err != nil || len(w.enqueued) > 0 {
				t.Errorf("once more: %v, %v", w.enqueued, err)
			}
			if len(w.lookups)+len(w.waiting) > 0 || w.dirty.Has(settings) {
				t.Errorf("it is not forgotten who waits: %v, %v, %v", w.lookups, w.waiting, w.dirty)
			}
		})
	}
}

// TestVerdicts checks that a different problem, or the end of one, counts as a change.
func TestVerdicts(t *testing.T) {
	w := newWaiters()
	for i, step := range []struct {
		problem *field.Problem
		want    bool
	}{
		{nil, false},
		{&field.Problem{Reason: "A", Message: "because"}, true},
		{&field.Problem{Reason: "A", Message: "because"}, false},
		{&field.Problem{Reason: "A", Message: "because of something else"}, true},
		{nil, true},
		{nil, false},
	} {
		w.enqueued = nil
		if err := w.Reconciled(t.Context(), settings, step.problem); err != nil || (len(w.enqueued) == 3) != step.want {
			t.Errorf("step %d: told %v, %v", i, w.enqueued, err)
		}
	}
}

// TestTellFails checks that the next attempt enqueues what the failed one could not, even for an object that
// has gone since.
func TestTellFails(t *testing.T) {
	w := newWaiters()
	w.asks(t, web, false, true, func() {})
	w.NoteWrite(settings)
	w.failure = errors.New("the cache has ended")
	if err := w.Reconciled(t.Context(), settings, nil); !errors.Is(err, w.failure) || len(w.enqueued) > 0 {
		t.Errorf("got %v, %v", w.enqueued, err)
	}
	w.Forget(settings)
	w.failure = nil
	if err := w.Reconciled(t.Context(), settings, nil); err != nil || len(w.enqueued) != 3 {
		t.Errorf("got %v, %v", w.enqueued, err)
	}
}

// TestAskFails checks that a pod does not wait if its look failed: it is retried anyway.
func TestAskFails(t *testing.T) {
	w, failure := newWaiters(), errors.New("the cache has ended")
	_, err := w.Ask(web, settings, func() (decide.Need, bool, error) { return decide.Need{}, true, failure })
	if !errors.Is(err, failure) || len(w.lookups)+len(w.waiting) > 0 {
		t.Errorf("got %v, and waits: %v", err, w.waiting)
	}
}

// model is a connection whose ConfigMaps become ready and unready without a write or a changed verdict: only
// waiting pods are enqueued.
type model struct {
	*Waits
	*work.Workers
	ready   []atomic.Bool
	mu      sync.Mutex
	missing map[decide.Key]int // How many ConfigMaps each pod last found unready.
	changed *sync.Cond
}

func (m *model) Reconcile(ctx context.Context, of decide.Key) (reconcile.Result, error) {
	if of.Kind == "configmap" {
		return reconcile.Result{}, m.Reconciled(ctx, of, nil)
	}
	missing := 0
	for i := range m.ready {
		need, err := m.Ask(of, key("configmap", fmt.Sprint(i)), func() (decide.Need, bool, error) {
			ready := m.ready[i].Load()
			for range rand.IntN(300) { // Long enough for the ConfigMap to be reconciled meanwhile.
				runtime.Gosched()
			}
			return decide.Need{Ready: ready}, true, nil
		})
		if err != nil {
			return reconcile.Result{}, err
		}
		if !need.Ready {
			missing++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missing[of] = missing
	m.changed.Broadcast()
	return reconcile.Result{}, nil
}

// TestNobodyWaitsForWhatIsReady changes ConfigMaps at random while pods look at them. When all are ready in the
// end, each pod finds out.
func TestNobodyWaitsForWhatIsReady(t *testing.T) {
	const pods, configMaps = 20, 4
	for range 100 {
		m := &model{ready: make([]atomic.Bool, configMaps), missing: map[decide.Key]int{}}
		m.changed = sync.NewCond(&m.mu)
		m.Workers = work.New(m)
		m.Workers.Add("pod", 8, retry.Backoff[decide.Key]())
		m.Workers.Add("configmap", 4, retry.Backoff[decide.Key]())
		m.Waits = New(func(keys ...decide.Key) { m.Enqueue(work.Normal, keys...) }, func(context.Context, decide.Key) ([]decide.Key, error) { return nil, nil })
		ctx, cancel := context.WithCancel(t.Context())
		ended, started := make(chan error, 1), make(chan struct{})
		go func() { ended <- m.Run(ctx, func(context.Context) error { close(started); return nil }) }()
		<-started
		for i := range pods {
			m.Enqueue(work.Normal, key("pod", fmt.Sprint(i)))
		}
		set := func(i int, ready bool) {
			m.ready[i].Store(ready)
			m.Enqueue(work.Normal, key("configmap", fmt.Sprint(i)))
		}
		for range 200 {
			set(rand.IntN(configMaps), rand.IntN(2) == 0)
		}
		for i := range configMaps {
			set(i, true)
		}
		m.mu.Lock()
		for len(m.missing) < pods || slices.Max(slices.Collect(maps.Values(m.missing))) > 0 {
			m.changed.Wait()
		}
		m.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}
