package budget

import (
	"encoding/json"
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
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/transport/decoded"
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
	l := NewLedger(Budget{Memory: 10 << 20, Objects: 100}, func(err error) { ended = err })
	handler := l.Handler()
	read := l.Counted(func(in any) (any, error) { return in, nil })
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
	want := "Spillway's objects and the nodes in the provider take more than 10 MiB of memory, mostly of kind ConfigMap: " +
		"delete unneeded objects, or raise spec.budget.memory"
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
	want = "Spillway's objects and the nodes in the provider are more than 100 objects, mostly of kind Pod: " +
		"delete unneeded objects, or raise spec.budget.objects"
	if ended == nil || ended.Error() != want {
		t.Errorf("ended with %v, want %s", ended, want)
	}
}

func TestUsage(t *testing.T) {
	l := NewLedger(Budget{Memory: 10 << 20, Objects: 100}, func(error) {})
	l.note(configMap("settings", 1000))
	got := l.Usage()
	if want := (connection.Usage{Memory: got.Memory, MaxMemory: 10 << 20, Objects: 1, MaxObjects: 100}); got != want || got.Memory < 1000 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	l.drop(configMap("settings", 0))
	if got := l.Usage(); got.Memory != 0 || got.Objects != 0 {
		t.Errorf("got %+v when it is gone", got)
	}
}

// TestRoutesAreMeasuredAsTheirListIs: what may be sent by its measure does not end the connection
// when it is listed.
func TestRoutesAreMeasuredAsTheirListIs(t *testing.T) {
	list := &gatewayv1.HTTPRouteList{}
	var said int64
	for range 10 {
		route := gatewayv1.HTTPRoute{}
		for range 300 {
			route.Spec.Rules = append(route.Spec.Rules, gatewayv1.HTTPRouteRule{BackendRefs: make([]gatewayv1.HTTPBackendRef, 1)})
		}
		list.Items = append(list.Items, route)
		said += amountOf(&route).memory
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if took, err := (&decoded.JSON{Routes: true}).Read(text); err != nil || took > said*11/10 || took < said/2 {
		t.Errorf("a list is said to take %d, its routes %d: %v", took, said, err)
	}
}
