package informer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
)

// seen has the changes that a follower was called with.
type seen struct {
	mu  sync.Mutex
	all []said
}

func (s *seen) note(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, inShort(c))
}

func (s *seen) until(t *testing.T, what string, done func([]said) bool) []said {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		all := slices.Clone(s.all)
		s.mu.Unlock()
		if done(all) {
			return all
		}
	}
	t.Fatalf("%s: it never came: %v", what, s.all)
	return nil
}

func has(value string) func([]said) bool {
	return func(all []said) bool {
		return slices.ContainsFunc(all, func(one said) bool { return one.After == value })
	}
}

func followersOf(informer toolscache.SharedIndexInformer) int {
	switch of := informer.(type) {
	case *shared:
		of.mu.Lock()
		defer of.mu.Unlock()
		return len(of.all)
	case *lean:
		of.mu.Lock()
		defer of.mu.Unlock()
		return len(of.all)
	}
	return 0
}

// TestShared: all followers see the same changes in the same order. A late follower first sees the existing
// objects, and a removed one nothing.
func TestShared(t *testing.T) { overBoth(t, testShared) }

func testShared(t *testing.T, of NewFunc) {
	server := cachetesting.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(configMap("old", "1"))
	informer := of(server, &corev1.ConfigMap{}, 0, nil)
	from := source{informer: informer}
	follow := func(ctx context.Context) *seen {
		t.Helper()
		s := &seen{}
		if err := Watch(ctx, from, &corev1.ConfigMap{}, s.note); err != nil {
			t.Fatal(err)
		}
		return s
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := follow(ctx), follow(ctx)
	running, stop := context.WithCancel(t.Context())
	go informer.RunWithContext(running)
	server.Add(configMap("new", "1"))
	for i := range 100 {
		server.Modify(configMap("new", fmt.Sprint(i)))
	}
	one, other := first.until(t, "the last change", has("new=99")), second.until(t, "the last change", has("new=99"))
	both := min(len(one), len(other)) // A list may still be on its way.
	if diff := cmp.Diff(one[:both], other[:both]); diff != "" {
		t.Errorf("two followers were told otherwise (-first +second):\n%s", diff)
	}
	first.until(t, "what was there", has("old=1"))

	late := follow(t.Context())
	there := late.until(t, "what is there", func(all []said) bool { return has("old=1")(all) && has("new=99")(all) })[:2]
	slices.SortFunc(there, func(a, b said) int { return strings.Compare(b.After, a.After) })
	if diff := cmp.Diff([]said{{After: "old=1", Initially: true}, {After: "new=99", Initially: true}}, there); diff != "" {
		t.Errorf("the late one (-want +got):\n%s", diff)
	}
	cancel()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if left := followersOf(informer); left == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("one that has ended is still there")
		}
	}
	want := first.until(t, "nothing", func([]said) bool { return true })
	server.Delete(configMap("new", "99"))
	late.until(t, "the deletion", func(all []said) bool {
		return slices.ContainsFunc(all, func(one said) bool { return one.Before == "new=99" && one.After == "" })
	})
	if diff := cmp.Diff(want, first.until(t, "nothing", func([]said) bool { return true })); diff != "" {
		t.Errorf("one that has ended was told more:\n%s", diff)
	}
	stop()
	for !informer.IsStopped() {
		time.Sleep(time.Millisecond)
	}
	if err := Watch(t.Context(), from, &corev1.ConfigMap{}, late.note); err == nil {
		t.Error("an informer that has stopped can be followed")
	}
}

// TestSharedLateWhileChanging: a follower that is added during changes misses none.
func TestSharedLateWhileChanging(t *testing.T) { overBoth(t, testSharedLateWhileChanging) }

func testSharedLateWhileChanging(t *testing.T, of NewFunc) {
	server := cachetesting.NewFakeControllerSource()
	defer server.Shutdown()
	informer := of(server, &corev1.ConfigMap{}, 0, nil)
	from := source{informer: informer}
	go informer.RunWithContext(t.Context())
	var all []*seen
	for i := range 50 {
		s := &seen{}
		all = append(all, s)
		server.Add(configMap(fmt.Sprint("m", i), "1"))
		if err := Watch(t.Context(), from, &corev1.ConfigMap{}, s.note); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range all {
		s.until(t, fmt.Sprintf("all of follower %d", i), func(told []said) bool {
			names := map[string]bool{}
			for _, one := range told {
				names[one.After] = true
			}
			return len(names) == 50
		})
	}
}
