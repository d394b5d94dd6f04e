package informer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// source is a cache of an API server's objects.
type source struct {
	cache.Cache
	informer toolscache.SharedIndexInformer
}

func (s source) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return s.informer, nil
}

// overBoth tests both kinds of informers.
func overBoth(t *testing.T, test func(*testing.T, NewFunc)) {
	t.Helper()
	for name, of := range map[string]NewFunc{"client-go's": Shared(toolscache.NewSharedIndexInformer), "lean": New} {
		t.Run(name, func(t *testing.T) { test(t, of) })
	}
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: map[string]string{"a": value}}
}

// said is a change in short form.
type said struct {
	Before, After     string
	Initially, Unseen bool
	Listed            bool
}

func inShort(c Change) said {
	value := func(obj client.Object) string {
		if m, ok := obj.(*corev1.ConfigMap); ok {
			return m.Name + "=" + m.Data["a"]
		}
		return ""
	}
	return said{Before: value(c.Before), After: value(c.After), Initially: c.Initially, Unseen: c.Unseen, Listed: c.Listed != ""}
}

// TestWatch follows objects that are created, changed and deleted, seen by a watch or only by the next list.
func TestWatch(t *testing.T) {
	overBoth(t, func(t *testing.T, of NewFunc) {
		synctest.Test(t, func(t *testing.T) { testWatch(t, of) })
	})
}

func testWatch(t *testing.T, of NewFunc) {
	server := cachetesting.NewFakeControllerSource()
	defer server.Shutdown()
	server.Add(configMap("old", "1"))
	from := source{informer: of(server, &corev1.ConfigMap{}, 0, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go from.informer.RunWithContext(ctx)

	changes := make(chan Change, 10)
	watching, stop := context.WithCancel(ctx)
	if err := Watch(watching, from, &corev1.ConfigMap{}, func(c Change) { changes <- c }); err != nil {
		t.Fatal(err)
	}
	expect := func(what string, want said) {
		t.Helper()
		select {
		case change := <-changes:
			if diff := cmp.Diff(want, inShort(change)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
			if change.Object() == nil {
				t.Errorf("%s: it is about nothing", what)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: nothing is said", what)
		}
	}
	expect("there at the beginning", said{After: "old=1", Initially: true})
	server.Add(configMap("new", "1"))
	expect("made", said{After: "new=1"})
	server.Modify(configMap("new", "2"))
	expect("changed", said{Before: "new=1", After: "new=2"})
	server.Delete(configMap("new", "2"))
	expect("gone", said{Before: "new=2"})
	server.DeleteDropWatch(configMap("old", "1"))
	server.ResetWatch()
	expect("gone, and only a list shows it", said{Before: "old=1", Unseen: true, Listed: true})

	stop()
	others := make(chan Change, 10)
	if err := Watch(ctx, from, &corev1.ConfigMap{}, func(c Change) { others <- c }); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // Now the handler is removed.
	server.Modify(configMap("more", "1"))
	<-others
	synctest.Wait()
	if len(changes) > 0 {
		t.Error("one whose context has ended is still called")
	}
}
