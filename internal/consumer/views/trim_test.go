package views

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
)

const applied = corev1.LastAppliedConfigAnnotation

func withKeys(labels, annotations map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: "settings", Labels: labels, Annotations: annotations}
}

func TestHeldMetadata(t *testing.T) {
	long := strings.Repeat("x", field.MostMetadata)
	fits, many := long[100:], map[string]string{}
	for i := range 2000 { // Each takes more memory than bytes on the wire.
		many[strconv.Itoa(i)] = ""
	}
	mark := map[string]string{"synced-to.spillway.io/eu": "true"}
	place := map[string]string{"remote.spillway.io/eu": "team-home/settings", "spillway.io/sync": "never"}
	and := func(all map[string]string, key, value string) map[string]string {
		more := map[string]string{key: value}
		for key, value := range all {
			more[key] = value
		}
		return more
	}
	for name, test := range map[string]struct{ in, want metav1.ObjectMeta }{
		"what is sent":                    {withKeys(and(mark, "a", "1"), and(place, "b", "2")), withKeys(and(mark, "a", "1"), and(place, "b", "2"))},
		"nothing":                         {withKeys(nil, nil), withKeys(nil, nil)},
		"what kubectl has applied":        {withKeys(mark, and(place, applied, long)), withKeys(mark, place)},
		"other keys of Spillway's domain": {withKeys(and(mark, "x.spillway.io/a", "b"), and(place, "spillway.io/copied", long)), withKeys(mark, place)},
		"a place that nobody has":         {withKeys(mark, and(place, "remote.spillway.io/us", long)), withKeys(mark, place)},
		"what a tool has applied":         {withKeys(mark, and(place, "kapp.k14s.io/original", long)), withKeys(mark, and(and(place, "kapp.k14s.io/original", ""), field.DigestKey, "kapp.k14s.io/original"))},
		"more annotations than are sent":  {withKeys(mark, and(place, "b", long)), withKeys(mark, field.Shortened(and(place, "spillway.io/sync", "never")))},
		"more labels than are sent":       {withKeys(and(mark, long, "1"), nil), withKeys(mark, field.Shortened(nil))},
		"as much as is sent, and our own": {withKeys(and(mark, "a", fits), place), withKeys(and(mark, "a", fits), place)},
		"many small labels":               {withKeys(many, nil), withKeys(nil, field.Shortened(nil))},
	} {
		t.Run(name, func(t *testing.T) {
			got := Trim(&corev1.PersistentVolumeClaim{ObjectMeta: *test.in.DeepCopy()}, nil).(*corev1.PersistentVolumeClaim)
			if diff := cmp.Diff(test.want, got.ObjectMeta); diff != "" {
				t.Errorf("held (-want +got):\n%.2000s", diff)
			}
			if field.MetadataTooLarge(got, nil) == nil != (field.MetadataTooLarge(&test.in, nil) == nil) {
				t.Error("it is refused in one form, and not in the other")
			}
			again := Trim(got, nil).(*corev1.PersistentVolumeClaim)
			if diff := cmp.Diff(test.want, again.ObjectMeta); diff != "" {
				t.Errorf("a second time makes something else (-first +second):\n%.2000s", diff)
			}
		})
	}
}

func TestHeldContent(t *testing.T) {
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	data := map[string]string{"key": strings.Repeat("x", 1_000_000)}
	owned := metav1.ObjectMeta{ManagedFields: managed, OwnerReferences: []metav1.OwnerReference{{Name: "a"}}}
	m := Trim(&corev1.ConfigMap{ObjectMeta: owned, Data: data}, nil).(*corev1.ConfigMap)
	if m.ManagedFields != nil || m.OwnerReferences != nil || len(m.Data["key"]) > 0 || field.ContentSize(m) < 1_000_000 {
		t.Errorf("held is %v", m)
	}
	labels := map[string]string{"a": strings.Repeat("x", field.MostMetadata+1), "spillway.io/local-uid": "1"}
	pod := Trim(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: managed, Labels: labels}}, nil).(*corev1.Pod)
	if pod.ManagedFields != nil || len(pod.Labels) != 2 {
		t.Errorf("of a pod is held %v", pod)
	}
	if Trim("text", nil) != "text" {
		t.Error("what is no object is changed")
	}
}

// TestMarksAreBounded tests more marks than bindings can exist, because anybody may write marks.
func TestMarksAreBounded(t *testing.T) {
	labels, annotations := map[string]string{}, map[string]string{}
	var names []string
	for i := range 5000 {
		labels["synced-to.spillway.io/c"+strconv.Itoa(i)] = "true"
		annotations["remote.spillway.io/c"+strconv.Itoa(i)] = strings.Repeat("x", mostValue)
		names = append(names, "sync.spillway.io/c"+strconv.Itoa(i))
	}
	in := withKeys(labels, annotations)
	in.Finalizers = names
	catalogued, err := trimMetadata(&metav1.PartialObjectMetadata{ObjectMeta: *in.DeepCopy()})
	if err != nil {
		t.Fatal(err)
	}
	for _, held := range []metav1.Object{Trim(&corev1.Secret{ObjectMeta: *in.DeepCopy()}, nil).(metav1.Object), catalogued.(metav1.Object)} {
		size := 0
		for key, value := range held.GetAnnotations() {
			size += field.EntrySize(key, value)
		}
		if size < field.MostMetadata/2 || size > field.MostMetadata+mostValue+100 {
			t.Errorf("%T: %d bytes of annotations are held", held, size)
		}
		for what, n := range map[string]int{"labels": len(held.GetLabels()), "finalizers": len(held.GetFinalizers())} {
			if n < 256 || n >= 5000 {
				t.Errorf("%T: %d %s are held, want those of 256 bindings, and not all", held, n, what)
			}
		}
	}
}

func TestCatalogueKeepsKnownKeys(t *testing.T) {
	long := strings.Repeat("x", mostValue+1)
	in := &metav1.PartialObjectMetadata{ObjectMeta: withKeys(
		map[string]string{"app": "web", "synced-to.spillway.io/eu": "true", "spillway.io/sync": "never", "x.spillway.io/y": "z", "notspillway.io/sync": "never"},
		map[string]string{"remote.spillway.io/eu": "team-home/settings", "remote.spillway.io/us": long, "spillway.io/junk": long, applied: long},
	)}
	want := withKeys(map[string]string{"synced-to.spillway.io/eu": "true", "spillway.io/sync": "never"},
		map[string]string{"remote.spillway.io/eu": "team-home/settings"})
	got, err := trimMetadata(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.(*metav1.PartialObjectMetadata).ObjectMeta); diff != "" {
		t.Errorf("the catalogue keeps (-want +got):\n%s", diff)
	}
}
