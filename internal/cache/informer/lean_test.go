package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// client-go's handlers of errors sleep in real time, not in the time of a bubble.
func init() { utilruntime.ErrorHandlers = nil }

// recorder is a handler that notes its calls since it was last asked.
type recorder struct {
	mu    sync.Mutex
	calls []string
}

func (r *recorder) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, what)
}

func text(obj any) string {
	switch of := obj.(type) {
	case *corev1.ConfigMap:
		return of.Name + "=" + of.Data["a"] + "@" + of.ResourceVersion
	case toolscache.DeletedFinalStateUnknown:
		return text(of.Obj) + " unseen as " + of.Key
	}
	return fmt.Sprintf("%T", obj)
}

// OnAdd implements ResourceEventHandler.
func (r *recorder) OnAdd(obj any, initially bool) {
	if initially {
		r.note(text(obj) + " is added initially")
		return
	}
	r.note(text(obj) + " is added")
}

// OnUpdate implements ResourceEventHandler.
func (r *recorder) OnUpdate(before, after any) {
	r.note(text(after) + " is updated from " + text(before))
}

// OnDelete implements ResourceEventHandler.
func (r *recorder) OnDelete(obj any) { r.note(text(obj) + " is deleted") }

// take returns the calls since the last time. Without an order, it returns those for one object after the other.
func (r *recorder) take(ordered bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	if !ordered {
		slices.SortStableFunc(calls, func(a, b string) int {
			nameA, _, _ := strings.Cut(a, "=")
			nameB, _, _ := strings.Cut(b, "=")
			return cmp.Compare(nameA, nameB)
		})
	}
	return calls
}

// transformed changes an object once, however often it is called.
func transformed(obj any) (any, error) {
	m := obj.(*corev1.ConfigMap)
	if m.Data["a"] == "odd" {
		return nil, errBroken
	}
	if !strings.HasPrefix(m.Data["a"], "v") {
		m.Data["a"] = "v" + m.Data["a"]
	}
	return m, nil
}

// side is an informer of an API server, with its handlers.
type side struct {
	*apiServer
	toolscache.SharedIndexInformer
	all           []*recorder
	registrations []toolscache.ResourceEventHandlerRegistration
	failed        []string
	listedBefore  int
}

func newSide(of NewFunc, lists bool, resync time.Duration) *side {
	s := &side{apiServer: &apiServer{lists: lists, version: 1, oldest: 1, objects: map[string]*corev1.ConfigMap{}}}
	s.SharedIndexInformer = of(s.apiServer, &corev1.ConfigMap{}, resync, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	_ = s.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) {
		if n := len(s.failed); n == 0 || s.failed[n-1] != err.Error() { // How often it fails depends on the jitter.
			s.failed = append(s.failed, err.Error())
		}
	})
	_ = s.SetTransform(transformed)
	return s
}

func (s *side) add() {
	r := &recorder{}
	registration, err := s.AddEventHandler(r)
	if err != nil {
		s.failed = append(s.failed, "no handler is added")
		return
	}
	s.all, s.registrations = append(s.all, r), append(s.registrations, registration)
}

// state is what can be seen of a side after a step.
type state struct {
	Calls                      [][]string
	Failed, Objects, ByValue   []string
	Synced                     []bool
	Version, Stored            string
	Listed, Started, IsStopped bool
}

func (s *side) state(ordered bool) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := state{Failed: s.failed, Synced: []bool{s.HasSynced()}, Version: s.LastSyncResourceVersion(), Stored: s.GetStore().LastStoreSyncResourceVersion(),
		Listed: s.listed > s.listedBefore, Started: s.SetTransform(transformed) != nil, IsStopped: s.IsStopped()}
	ordered = ordered && !now.Listed
	s.failed, s.listedBefore = nil, s.listed
	for i, r := range s.all {
		now.Calls = append(now.Calls, r.take(ordered))
		now.Synced = append(now.Synced, s.registrations[i].HasSynced())
	}
	for _, obj := range s.GetIndexer().List() {
		now.Objects = append(now.Objects, text(obj))
	}
	found, err := s.GetIndexer().ByIndex("value", "v1")
	for _, obj := range found {
		now.ByValue = append(now.ByValue, text(obj))
	}
	if err != nil {
		now.ByValue = []string{err.Error()}
	}
	slices.Sort(now.Objects)
	slices.Sort(now.ByValue)
	return now
}

// settled is longer than two failed requests and the delays after them.
const settled = 4 * time.Minute

// step does something to a side.
type step struct {
	name string
	do   func(*side)
	// wait is how long it takes.
	wait time.Duration
	// mixed: what it causes has no order among objects.
	mixed bool
}

func change(r *rand.Rand, quiet bool) step {
	name, value := string(rune('a'+r.Intn(4))), fmt.Sprint(r.Intn(3))
	switch r.Intn(12) {
	case 0, 1, 2, 3:
		value = ""
	case 4:
		if !quiet {
			value = "odd"
		}
	}
	return step{name: "set " + name + " to " + value, do: func(s *side) { s.set(name, value) }}
}

// outage is a time in which objects change and no watch sees it.
func outage(r *rand.Rand) step {
	var changes []step
	var names []string
	for range r.Intn(5) {
		one := change(r, false)
		changes, names = append(changes, one), append(names, one.name)
	}
	compact := r.Intn(2) == 0
	return step{name: fmt.Sprint("an outage, compact ", compact, names), wait: settled, do: func(s *side) {
		s.end()
		for _, one := range changes {
			one.do(s)
		}
		if compact {
			s.compact()
		}
	}}
}

func nextStep(r *rand.Rand, quiet bool) step {
	kinds, pause := 16, settled
	if quiet {
		kinds, pause = 9, 61*time.Second
	}
	forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), "", errBroken)
	errs := []error{errBroken, forbidden, apierrors.NewTooManyRequests("later", 1), apierrors.NewInternalError(errBroken), apierrors.NewResourceExpired("gone")}
	one, other := errs[r.Intn(len(errs))], errs[r.Intn(len(errs))]
	switch r.Intn(kinds) {
	case 6:
		return step{name: "a bookmark", do: func(s *side) { s.version++; s.send("BOOKMARK", s.bookmark(nil)) }}
	case 7:
		return step{name: "a while", do: func(*side) {}, wait: pause, mixed: true}
	case 8:
		return step{name: "an index", do: func(s *side) {
			_ = s.AddIndexers(toolscache.Indexers{"value": func(obj any) ([]string, error) { return []string{obj.(*corev1.ConfigMap).Data["a"]}, nil }})
		}}
	case 9:
		return step{name: "a new handler", do: (*side).add, mixed: true}
	case 10:
		i := r.Intn(3)
		return step{name: fmt.Sprint("handler ", i, " is removed"), do: func(s *side) {
			if i < len(s.registrations) {
				_ = s.RemoveEventHandler(s.registrations[i])
			}
		}}
	case 11, 12:
		return outage(r)
	case 13:
		return step{name: fmt.Sprint("the watch says ", one), wait: settled, do: func(s *side) {
			if status, ok := errors.AsType[*apierrors.StatusError](one); ok {
				s.fail(status)
			}
		}}
	case 14:
		return step{name: fmt.Sprint("the next lists fail: ", one, other), do: func(s *side) { s.listErrors = []error{one, other} }}
	case 15:
		return step{name: fmt.Sprint("the next watches fail: ", one, other), do: func(s *side) { s.watchFail = []error{one, other} }}
	}
	return change(r, quiet)
}

// differ does the same random steps with client-go's informer and with a lean one. It returns the first step
// after which they differ.
func differ(ctx context.Context, seed int64) string {
	r := rand.New(rand.NewSource(seed))
	lists, quiet := r.Intn(2) == 0, r.Intn(4) == 0
	resync := time.Duration(0)
	if quiet {
		resync = time.Minute // Otherwise, when it comes depends on the jitter of errors.
	}
	ctx, cancel := context.WithCancel(logr.NewContext(ctx, logr.Discard()))
	defer synctest.Wait()
	defer cancel()
	theirs, ours := newSide(toolscache.NewSharedIndexInformer, lists, resync), newSide(New, lists, resync)
	steps := []step{{name: "the start", wait: settled, do: func(s *side) {
		s.add()
		go s.RunWithContext(ctx)
	}}}
	if r.Intn(2) == 0 {
		steps = slices.Insert(steps, 0, change(r, quiet), nextStep(r, quiet))
	}
	for range 12 {
		steps = append(steps, nextStep(r, quiet))
	}
	steps = append(steps, step{name: "the end", do: func(s *side) { cancel(); synctest.Wait(); s.add() }})
	var done []string
	for _, next := range steps {
		done = append(done, next.name)
		for _, s := range []*side{theirs, ours} {
			s.mu.Lock()
			next.do(s)
			s.mu.Unlock()
		}
		time.Sleep(next.wait)
		synctest.Wait()
		if their, our := theirs.state(!next.mixed), ours.state(!next.mixed); !reflect.DeepEqual(their, our) {
			return fmt.Sprintf("seed %d, lists %t, after %s (-client-go's +lean):\n%s", seed, lists, strings.Join(done, "; "), gocmp.Diff(their, our))
		}
	}
	return ""
}

// TestLikeClientGo: after the same random events and failures, client-go's informer and a lean one have called
// their handlers with the same, in the same order, and have the same objects.
func TestLikeClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range int64(1000) {
			if diff := differ(t.Context(), seed); diff != "" {
				t.Error(diff)
				return
			}
		}
	})
}
