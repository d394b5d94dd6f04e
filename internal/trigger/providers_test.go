package trigger

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newQueue(t *testing.T) Queue {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	return queue
}

// take empties a queue.
func take(queue Queue) (names []string) {
	for queue.Len() > 0 {
		request, _ := queue.Get()
		names = append(names, request.Name)
		queue.Done(request)
	}
	return names
}

// TestProviders: an engagement enqueues its binding, at once or when the controller starts, and so does each change.
func TestProviders(t *testing.T) {
	changed := map[cluster.Cluster]func(){}
	eu, us, queue := &provider{}, &provider{}, newQueue(t)
	p := &Providers{}
	p.Watch = func(_ context.Context, of cluster.Cluster, enqueue func()) error {
		changed[of] = enqueue
		if len(p.early)+queue.Len() > 0 {
			t.Error("it is enqueued before it is watched, so a change in between is lost")
		}
		return nil
	}
	for _, step := range []struct {
		what string
		do   func() error
		want []string
	}{
		{"the consumer itself", func() error { return p.Engage(t.Context(), "", &provider{}) }, nil},
		{"engaged before the start", func() error { return p.Engage(t.Context(), "eu", eu) }, nil},
		{"changed before the start", func() error { changed[eu](); return nil }, nil},
		{"the start", func() error { return p.Source().Start(t.Context(), queue) }, []string{"eu"}},
		{"engaged after the start", func() error { return p.Engage(t.Context(), "us", us) }, []string{"us"}},
		{"changed after the start", func() error { changed[eu](); return nil }, []string{"eu"}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := take(queue); len(got) != len(step.want) || len(got) == 1 && got[0] != step.want[0] {
			t.Errorf("%s: enqueued %v, want %v", step.what, got, step.want)
		}
	}
	if len(changed) != 2 {
		t.Errorf("%d clusters are watched, want the two providers", len(changed))
	}
	p.Watch = func(context.Context, cluster.Cluster, func()) error { return errors.New("no") }
	if p.Engage(t.Context(), "asia", &provider{}) == nil {
		t.Error("a provider that cannot be watched counts as engaged")
	}
}

// provider is a cluster with a cache.
type provider struct {
	cluster.Cluster
	cache informertest.FakeInformers
}

func (p *provider) GetCache() crcache.Cache { return &p.cache }

func TestChanges(t *testing.T) {
	of, calls := &provider{}, 0
	named := func(before, after *corev1.Node) bool { return before.Labels["name"] != after.Labels["name"] }
	if err := Changes(t.Context(), of, &corev1.Node{}, named, func() { calls++ }); err != nil {
		t.Fatal(err)
	}
	informer, err := of.cache.FakeInformerFor(t.Context(), &corev1.Node{})
	if err != nil {
		t.Fatal(err)
	}
	node := func(name, other string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"name": name, "other": other}}}
	}
	for what, test := range map[string]struct {
		do   func()
		want int
	}{
		"a creation":     {func() { informer.Add(node("a", "")) }, 1},
		"a deletion":     {func() { informer.Delete(node("a", "")) }, 1},
		"what matters":   {func() { informer.Update(node("a", ""), node("b", "")) }, 1},
		"another change": {func() { informer.Update(node("a", ""), node("a", "x")) }, 0},
	} {
		calls = 0
		test.do()
		if calls != test.want {
			t.Errorf("%s: %d calls, want %d", what, calls, test.want)
		}
	}
}
