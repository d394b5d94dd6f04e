package views

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/internal/field"
)

// server has the pods of some nodes, and notes the requests for them.
type server struct {
	mu       sync.Mutex
	version  int
	pods     map[string][]corev1.Pod // By node.
	watches  map[string]*watch.FakeWatcher
	requests []string
}

func nodeOf(options metav1.ListOptions) string {
	_, node, _ := strings.Cut(options.FieldSelector, "=")
	return node
}

func (s *server) note(format string, values ...any) {
	s.requests = append(s.requests, fmt.Sprintf(format, values...))
}

// taken returns the requests since it was called last, sorted.
func (s *server) taken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Sorted(slices.Values(s.requests))
	s.requests = nil
	return strings.Join(all, ", ")
}

func (s *server) lw() *toolscache.ListWatch {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.note("list %s", nodeOf(options))
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(s.version)}, Items: slices.Clone(s.pods[nodeOf(options)])}, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.note("watch %s from %s", nodeOf(options), options.ResourceVersion)
			s.watches[nodeOf(options)] = watch.NewFakeWithChanSize(10, false)
			return s.watches[nodeOf(options)], nil
		},
	}
}

// run creates a pod on a node.
func (s *server) run(name, node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: fmt.Sprint(s.version)}, Spec: corev1.PodSpec{NodeName: node}}
	s.pods[node] = append(s.pods[node], pod)
	if s.watches[node] != nil {
		s.watches[node].Add(&pod)
	}
}

// unsupported is a ListWatch of a server that begins no watch with a list.
type unsupported struct{ *toolscache.ListWatch }

func (unsupported) IsWatchListSemanticsUnSupported() bool { return true }

// TestOnNodes: an informer has the pods of all nodes, whichever are added, and whatever ends the watches.
func TestOnNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{version: 1, pods: map[string][]corev1.Pod{}, watches: map[string]*watch.FakeWatcher{}}
		s.run("p1", "n")
		s.run("other", "m")
		nodes := newOnNodes("n", nil)
		informer := nodes.informer(unsupported{s.lw()}, &corev1.Pod{}, 0, toolscache.Indexers{})
		ctx, cancel := context.WithCancel(t.Context())
		go informer.RunWithContext(ctx)
		with := func(names ...string) map[string]field.Group {
			groups := map[string]field.Group{}
			for _, name := range names {
				groups[name] = nil
			}
			return groups
		}
		end := func(node string) { s.mu.Lock(); defer s.mu.Unlock(); s.watches[node].Stop() }
		for _, step := range []struct {
			name       string
			do         func()
			pods, want string
		}{
			{"one node", func() {}, "p1", "list n, watch n from 3"},
			{"the same", func() { nodes.set(nil) }, "p1", ""},
			{"two groups", func() { s.run("p2", "n.a"); nodes.set(with("n.a", "n.b")) }, "p1 p2", "list n, list n.a, list n.b, watch n from 4, watch n.a from 4, watch n.b from 4"},
			{"a pod on each", func() { s.run("p3", "n.b"); s.run("p4", "n") }, "p1 p2 p3 p4", ""},
			{"one more group, with a pod", func() { s.run("p5", "n.c"); nodes.set(with("n.a", "n.b", "n.c")) }, "p1 p2 p3 p4 p5", "list n.c, watch n.c from 7"},
			{"a watch ends, as watches do", func() { end("n.b") }, "p1 p2 p3 p4 p5", "watch n.b from 5"},
			{"a group is gone", func() { nodes.set(with("n.a", "n.b")) }, "p1 p2 p3 p4 p5", ""},
			{"one ends at once, so all are listed", func() {
				s.mu.Lock()
				s.watches["n"].Error(&apierrors.NewResourceExpired("old").ErrStatus)
				s.mu.Unlock()
			}, "p1 p2 p3 p4", "list n, list n.a, list n.b, watch n from 7, watch n.a from 7, watch n.b from 7"},
			{"without groups, and an idle watch ends", func() { nodes.set(nil); end("n") }, "p1 p4", "list n, watch n from 7"},
		} {
			step.do()
			synctest.Wait()
			time.Sleep(time.Minute) // The informer waits before it lists again.
			synctest.Wait()
			var pods []string
			for _, pod := range informer.GetStore().List() {
				pods = append(pods, pod.(*corev1.Pod).Name)
			}
			slices.Sort(pods)
			if got := strings.Join(pods, " "); got != step.pods {
				t.Errorf("%s: the pods %q, want %q", step.name, got, step.pods)
			}
			if got := s.taken(); got != step.want {
				t.Errorf("%s: the requests %q, want %q", step.name, got, step.want)
			}
		}
		cancel()
		synctest.Wait()
	})
}
