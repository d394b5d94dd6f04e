package fleet

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // The machine may lack it.

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
)

// TestSizes compares the counted sizes of objects with the real ones.
func TestSizes(t *testing.T) {
	const copies = 200
	text := func(i, n int) string { return strings.Repeat("x", n) + fmt.Sprint(i) }
	tests := map[string]func(i int) client.Object{
		"empty containers": func(int) client.Object {
			return &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 300)}}
		},
		"bytes": func(int) client.Object {
			return &corev1.Secret{Data: map[string][]byte{"key": make([]byte, 100_000)}}
		},
		"text": func(i int) client.Object {
			return &corev1.ConfigMap{Data: map[string]string{text(i, 5000): text(i, 50_000)}}
		},
		"labels": func(i int) client.Object {
			labels := map[string]string{}
			for n := range 500 {
				labels[text(i+1000*n, 20)] = text(i, 30)
			}
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
		},
		"owners": func(int) client.Object {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: make([]metav1.OwnerReference, 500)}}
		},
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			kept := make([]client.Object, copies)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for i := range kept {
				kept[i] = build(i)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			var said int64
			for _, object := range kept {
				said += amountOf(object).memory
			}
			took := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if said < took*6/10 || said > took*2 {
				t.Errorf("said to take %d bytes each, they take %d", said/copies, took/copies)
			}
			runtime.KeepAlive(kept)
		})
	}
}

// TestSizeLeavesOutTheTimeZone uses a zone with the changes of a century.
func TestSizeLeavesOutTheTimeZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	there, here := configMap("a", 1), configMap("a", 1)
	there.CreationTimestamp, here.CreationTimestamp = metav1.NewTime(at.In(berlin)), metav1.NewTime(at)
	if got, want := amountOf(there).memory, amountOf(here).memory; got != want {
		t.Errorf("%d bytes with a time zone, %d without", got, want)
	}
}

func configMap(name string, size int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, BinaryData: map[string][]byte{"k": make([]byte, size)}}
}

func TestLedger(t *testing.T) {
	var ended error
	l := newLedger(Budget{Memory: 10 << 20, Objects: 100}, func(err error) { ended = err })
	handler := l.handler()
	read := l.counted(func(in any) (any, error) { return in, nil })
	for range 1000 { // An object that changes for ever counts once.
		if _, err := read(configMap("changed", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 { // So do objects that come and go.
		passing := configMap(fmt.Sprint("passing", i), 1<<20)
		for _, step := range []func(){func() { _, _ = read(passing) }, func() { handler.OnAdd(passing, false) }, func() { _, _ = read(passing) }, func() { handler.OnDelete(passing) }} {
			step()
		}
	}
	handler.OnDelete(cache.DeletedFinalStateUnknown{Obj: configMap("never", 0)})
	if ended != nil || l.all.objects != 1 {
		t.Fatalf("it holds %d objects, and ended with %v; want one, and no end", l.all.objects, ended)
	}
	_, _ = read(configMap("large", 10<<20))
	want := "what carries our mark in the provider, and its nodes, is more than 10 MiB of memory, most of it of the kind ConfigMap: " +
		"see what is there, or raise spec.budget.memory"
	if ended == nil || ended.Error() != want {
		t.Errorf("ended with %v, want %s", ended, want)
	}
	ended = nil
	handler.OnDelete(configMap("large", 0))
	for i := range 100 {
		if ended != nil {
			t.Fatalf("ended after %d objects: %v", i, ended)
		}
		_, _ = read(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}})
	}
	want = "what carries our mark in the provider, and its nodes, is more than 100 objects, most of it of the kind Pod: " +
		"see what is there, or raise spec.budget.objects"
	if ended == nil || ended.Error() != want {
		t.Errorf("ended with %v, want %s", ended, want)
	}
}

// marked creates objects in the provider with the mark of a binding.
func marked(t *testing.T, clusterID string, number int, change func(*corev1.ConfigMap)) {
	t.Helper()
	c, err := client.New(provider, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range number {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("%s-%d", clusterID, i), Labels: provenance.Mark{Origin: "consumer", ClusterID: clusterID}.Labels(),
		}}
		change(object)
		temporary(t, c, object)
	}
}

// TestContentIsNotHeld has copies in the provider with more content than the budget: 12
// MiB for a budget of eight.
func TestContentIsNotHeld(t *testing.T) {
	f, _ := startFleetWith(t, Kind{Object: &corev1.ConfigMap{}})
	marked(t, "content", 16, func(object *corev1.ConfigMap) { object.BinaryData = map[string][]byte{"k": make([]byte, 750_000)} })
	content := target("content", "1", providerUID)
	content.Budget = Budget{Memory: 8 << 20}
	f.Connect(content)
	eventually(t, f, "content", "is connected, for it holds none of it", connected)
	cl, err := f.Get(t.Context(), "content")
	if err != nil {
		t.Fatal(err)
	}
	var held corev1.ConfigMapList
	if err := cl.GetCache().List(t.Context(), &held); err != nil {
		t.Fatal(err)
	}
	for i := range held.Items {
		if size := amountOf(&held.Items[i]).memory; size > 2000 || translate.ContentSize(&held.Items[i]) < 750_000 {
			t.Errorf("%s takes %d bytes, and stands for %d", held.Items[i].Name, size, translate.ContentSize(&held.Items[i]))
		}
	}
	if len(held.Items) != 16 {
		t.Errorf("there are %d", len(held.Items))
	}
}

// TestTooLarge has more in the provider than the budget: 12 MiB of annotations for a
// budget of eight. A watch reads it, which no limit on lists catches.
func TestTooLarge(t *testing.T) {
	f, _ := startFleetWith(t, Kind{Object: &corev1.ConfigMap{}})
	marked(t, "large", 50, func(object *corev1.ConfigMap) {
		object.Annotations = map[string]string{"example.com/large": strings.Repeat("x", 250_000)}
	})
	large := target("large", "1", providerUID)
	large.Budget = Budget{Memory: 8 << 20}
	f.Connect(large)
	state := eventually(t, f, "large", "is refused", refusedFor(v1alpha1.ReasonTooLarge))
	if !strings.Contains(state.Message, "8 MiB of memory, most of it of the kind ConfigMap") || !strings.Contains(state.Message, "spec.budget.memory") {
		t.Errorf("the message is %q", state.Message)
	}
	large.Budget = Budget{Memory: 64 << 20}
	f.Connect(large)
	eventually(t, f, "large", "is connected with a larger budget", connected)
}
