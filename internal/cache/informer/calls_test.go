package informer

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
)

func newServer() *apiServer {
	return &apiServer{version: 1, oldest: 1, objects: map[string]*corev1.ConfigMap{}}
}

// put sets an object, as another client would.
func (s *apiServer) put(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(name, value)
}

// TestSlowHandler: while a handler is blocked, the indexer follows the watch, handlers can be added and removed,
// and the blocked handler's informer has synced. It then gets all calls in order, unless the informer ends.
func TestSlowHandler(t *testing.T) {
	for name, ends := range map[string]bool{"it continues": false, "the informer ends": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, blocked, told := newServer(), make(chan struct{}), &recorder{}
				server.put("a", "1")
				informer := New(server, &corev1.ConfigMap{}, 0, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				slow, _ := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
					AddFunc:    func(obj any, initially bool) { <-blocked; told.OnAdd(obj, initially) },
					UpdateFunc: told.OnUpdate,
				})
				go informer.RunWithContext(ctx)
				synctest.Wait()
				want := []string{"a=1@2 is added initially"}
				for i := range 50 {
					server.put("a", fmt.Sprint(i))
					want = append(want, fmt.Sprintf("a=%d@%d is updated from a=%s", i, i+3, []string{"1@2", fmt.Sprintf("%d@%d", i-1, i+2)}[min(i, 1)]))
				}
				synctest.Wait()
				late := &recorder{}
				removed, _ := informer.AddEventHandler(late)
				_, _ = informer.AddEventHandler(late)
				_ = informer.RemoveEventHandler(removed)
				synctest.Wait()
				stored, _, _ := informer.GetStore().GetByKey("team/a")
				if text(stored) != "a=49@52" || !informer.HasSynced() || slow.HasSynced() {
					t.Errorf("the indexer has %s, the informer has synced: %t, the handler: %t", text(stored), informer.HasSynced(), slow.HasSynced())
				}
				var wantLate []string
				if ends {
					cancel()
					synctest.Wait()
					want = want[:1]
				} else {
					wantLate = []string{"a=49@52 is added initially"}
				}
				close(blocked)
				synctest.Wait()
				if diff := cmp.Diff(want, told.take(true)); diff != "" {
					t.Errorf("the slow one (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(wantLate, late.take(true)); diff != "" {
					t.Errorf("the late one (-want +got):\n%s", diff)
				}
				if slow.HasSynced() == ends || informer.IsStopped() != ends {
					t.Errorf("the handler has synced: %t, the informer has stopped: %t", slow.HasSynced(), informer.IsStopped())
				}
			})
		})
	}
}

// TestLateHandlers: each handler that is added during changes gets each object once, and then each change of it.
func TestLateHandlers(t *testing.T) {
	server := newServer()
	informer := New(server, &corev1.ConfigMap{}, 0, nil)
	go informer.RunWithContext(t.Context())
	<-informer.HasSyncedChecker().Done()
	var handlers []*recorder
	var registrations []toolscache.ResourceEventHandlerRegistration
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 40 {
			for name := range 20 {
				server.put(fmt.Sprint("m", name), fmt.Sprint(i))
			}
			runtime.Gosched()
			for server.behind(informer) {
				runtime.Gosched()
			}
		}
	})
	for range 50 {
		r := &recorder{}
		registration, err := informer.AddEventHandler(r)
		if err != nil {
			t.Fatal(err)
		}
		handlers, registrations = append(handlers, r), append(registrations, registration)
		runtime.Gosched()
	}
	group.Wait()
	last := &recorder{} // It is called after all others.
	registration, _ := informer.AddEventHandler(last)
	<-registration.HasSyncedChecker().Done()
	for i, r := range handlers {
		<-registrations[i].HasSyncedChecker().Done()
		shown := map[string]string{}
		for _, one := range r.take(true) {
			name, _, _ := strings.Cut(one, "=")
			now, rest, _ := strings.Cut(one, " is ")
			before, updated := strings.CutPrefix(rest, "updated from ")
			if updated != (shown[name] != "") || updated && before != shown[name] {
				t.Fatalf("handler %d, which knows %q, is told that %s", i, shown[name], one)
			}
			shown[name] = now
		}
		if len(shown) != 20 || slices.ContainsFunc([]string{"m0", "m19"}, func(name string) bool { return !strings.HasPrefix(shown[name], name+"=39@") }) {
			t.Fatalf("handler %d knows %v", i, shown)
		}
	}
}

// behind reports whether the informer has not read all changes. A watch of the server has few places.
func (s *apiServer) behind(informer toolscache.SharedIndexInformer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return informer.LastSyncResourceVersion() != fmt.Sprint(s.version)
}

// TestPanic: a panic of a handler is handled as client-go's. That ends the process, unless it is told not to.
// Then the other calls are made.
func TestPanic(t *testing.T) {
	defer func(crash bool, handlers []func(context.Context, any)) {
		utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers
	}(utilruntime.ReallyCrash, utilruntime.PanicHandlers)
	var panics []any
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, []func(context.Context, any){func(_ context.Context, what any) { panics = append(panics, what) }}
	synctest.Test(t, func(t *testing.T) {
		server, told := newServer(), &recorder{}
		informer := New(server, &corev1.ConfigMap{}, 0, nil)
		_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("no") }, UpdateFunc: told.OnUpdate})
		go informer.RunWithContext(t.Context())
		synctest.Wait()
		server.put("a", "1")
		server.put("a", "2")
		synctest.Wait()
		if diff := cmp.Diff([]string{"a=2@3 is updated from a=1@2"}, told.take(true)); diff != "" || len(panics) != 1 {
			t.Errorf("%d panics are handled (-want +got):\n%s", len(panics), diff)
		}
	})
}

// TestReplaceOrder: handlers hear of what a list lacks before they hear of what it has, in the list's order.
func TestReplaceOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, told := New(newServer(), &corev1.ConfigMap{}, 0, nil).(*lean), &recorder{}
		_, _ = informer.AddEventHandler(told)
		list := func(names ...string) {
			var all []any
			for _, name := range names {
				all = append(all, configMap(name, "1"))
			}
			if err := informer.Replace(all, "1"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		list("a")
		list("c", "a", "b")
		if diff := cmp.Diff([]string{"a=1@ is added initially", "c=1@ is added", "a=1@ is updated from a=1@", "b=1@ is added"}, told.take(true)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		list("z", "c", "b")
		if diff := cmp.Diff([]string{"a=1@ unseen as team/a is deleted", "z=1@ is added", "c=1@ is updated from c=1@", "b=1@ is updated from b=1@"}, told.take(true)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestStartedOnce: what must not change after the start is refused.
func TestStartedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := New(newServer(), &corev1.ConfigMap{}, 0, nil)
		set := func() []bool {
			return []bool{
				informer.SetTransform(nil) == nil,
				informer.SetWatchErrorHandler(func(*toolscache.Reflector, error) {}) == nil,
				informer.SetWatchErrorHandlerWithContext(func(context.Context, *toolscache.Reflector, error) {}) == nil,
				informer.AddIndexers(nil) == nil,
			}
		}
		if diff := cmp.Diff([]bool{true, true, true, true}, set()); diff != "" {
			t.Errorf("before the start (-want +got):\n%s", diff)
		}
		stop := make(chan struct{})
		go informer.Run(stop)
		synctest.Wait()
		if diff := cmp.Diff([]bool{false, false, false, true}, set()); diff != "" {
			t.Errorf("after the start (-want +got):\n%s", diff)
		}
		informer.RunWithContext(t.Context()) // It returns.
		close(stop)
		synctest.Wait()
		if diff := cmp.Diff([]bool{false, false, false, false}, set()); diff != "" {
			t.Errorf("after the end (-want +got):\n%s", diff)
		}
	})
}

// TestGoroutines counts the goroutines of an idle informer with handlers, whose watch has none. The context is
// of the type that controller-runtime uses.
func TestGoroutines(t *testing.T) {
	overBoth(t, func(t *testing.T, of NewFunc) {
		synctest.Test(t, func(t *testing.T) {
			before, stop := inBubbles(), make(chan struct{})
			defer close(stop)
			informer := of(newServer(), &corev1.ConfigMap{}, 10*time.Hour, nil)
			for range 3 {
				_, _ = informer.AddEventHandler(&recorder{})
			}
			go informer.RunWithContext(wait.ContextForChannel(stop))
			synctest.Wait()
			_, isLean := informer.(*lean)
			if got, want := inBubbles()-before, map[bool]int{false: 8, true: 3}[isLean]; got != want {
				t.Errorf("%d goroutines, not %d", got, want)
			}
		})
	})
}

// inBubbles counts goroutines without those that earlier tests have left.
func inBubbles() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("synctest bubble"))
}

// BenchmarkEvents measures what an event costs from the watch to one handler, with the informer's work alone.
// In a burst, the handler runs behind the watch. Otherwise each event comes to an idle informer.
func BenchmarkEvents(b *testing.B) {
	for name, of := range map[string]NewFunc{"client-go's": Shared(toolscache.NewSharedIndexInformer), "lean": New} {
		for _, burst := range []int{1, 50} {
			b.Run(fmt.Sprintf("%s/burst=%d", name, burst), func(b *testing.B) { benchmarkEvents(b, of, burst) })
		}
	}
}

func benchmarkEvents(b *testing.B, of NewFunc, burst int) {
	server, seen := newServer(), make(chan struct{}, burst)
	informer := of(server, &corev1.ConfigMap{}, 0, nil)
	_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { seen <- struct{}{} }})
	go informer.RunWithContext(b.Context())
	server.put("a", "1")
	for server.behind(informer) {
		runtime.Gosched()
	}
	obj := configMap("a", "1")
	obj.ResourceVersion = "3"
	b.ReportAllocs()
	before := cpu()
	for left := b.N; left > 0; left -= burst {
		for range min(burst, left) {
			server.stream.Modify(obj)
		}
		for range min(burst, left) {
			<-seen
		}
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/event")
}

// cpu returns the time that the process has used.
func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
