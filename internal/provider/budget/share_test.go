package budget

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestShare(t *testing.T) {
	budget := Budget{Memory: 64 << 20, Objects: 100}
	const mib = 1 << 20
	tests := map[string]struct {
		from, all, more amount
		want            string
	}{
		"the last object of a namespace": {amount{objects: 24}, amount{objects: 24}, amount{objects: 1}, ""},
		"one more": {amount{objects: 25}, amount{objects: 25}, amount{objects: 1},
			"namespace team has 25 objects there, and the limit for a namespace is 25"},
		"the last of all": {amount{objects: 1}, amount{objects: 79}, amount{objects: 1}, ""},
		"one more of all": {amount{objects: 1}, amount{objects: 80}, amount{objects: 1},
			"all namespaces together have 80 objects there, and the limit is 80"},
		"memory": {amount{memory: 16 * mib}, amount{memory: 16 * mib}, amount{memory: 1},
			"namespace team has 16384 KiB held in memory there, and the limit for a namespace is 16384 KiB"},
		"content, which is a quarter as large": {amount{sent: 4 * mib}, amount{sent: 4 * mib}, amount{sent: 1},
			"namespace team has 4096 KiB of content there, and the limit for a namespace is 4096 KiB"},
		"content of all":                         {amount{}, amount{sent: 13 * mib}, amount{sent: 1}, "all namespaces together have 13312 KiB of content there, and the limit is 13107 KiB"},
		"what shrinks":                           {amount{sent: 5 * mib}, amount{sent: 5 * mib}, amount{sent: -1}, ""},
		"what grows in another way":              {amount{objects: 30}, amount{objects: 90}, amount{sent: 1, memory: 1}, ""},
		"what is too large for one namespace":    {amount{}, amount{}, amount{sent: 5 * mib}, "namespace team has 0 KiB of content there, and the limit for a namespace is 4096 KiB"},
		"nothing more, though there is too much": {amount{objects: 90, memory: 65 * mib}, amount{objects: 90, memory: 65 * mib}, amount{}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := shareOf(budget).exceeded("team", test.from, test.all, test.more); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := shareOf(budget).exceeded("", amount{objects: 50}, amount{objects: 50}, amount{objects: 1}); got != "" {
		t.Errorf("what is of no namespace has no share of one: %s", got)
	}
}

// copyOf is a ConfigMap as a provider's cache holds it.
func copyOf(namespace, name, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "remote", Name: name, Annotations: map[string]string{v1alpha1.AnnotationLocalNamespace: namespace}},
		Data:       map[string]string{"k": content},
	}
}

// TestCount counts by kind and namespace of the consumer, from the provider's answer on.
func TestCount(t *testing.T) {
	l := NewLedger(Budget{}, func(err error) { t.Errorf("the session ends: %v", err) })
	secret := &corev1.Secret{ObjectMeta: copyOf("team", "a", "").ObjectMeta}
	l.note(secret)
	l.Sent(copyOf("team", "a", ""))
	l.Sent(copyOf("team", "b", ""))
	l.Sent(copyOf("other", "c", ""))
	l.note(copyOf("team", "a", "longer"))
	want := func(what string, team, other int) {
		t.Helper()
		if got := l.Count(&corev1.ConfigMap{}, "team"); got != team {
			t.Errorf("%s: %d of namespace team, want %d", what, got, team)
		}
		if got := l.Count(&corev1.ConfigMap{}, "other"); got != other {
			t.Errorf("%s: %d of namespace other, want %d", what, got, other)
		}
	}
	want("sent", 2, 1)
	l.drop(copyOf("team", "a", ""))
	l.drop(copyOf("other", "c", ""))
	want("deleted", 1, 0)
	if got := len(l.kinds[reflect.TypeFor[*corev1.ConfigMap]()].namespaces); got != 1 {
		t.Errorf("it remembers %d namespaces, want 1", got)
	}
}

// TestOneNamespaceDoesNotEndTheSession sends what a namespace may, as the engine does:
// before this was counted, 270 ConfigMaps of a megabyte ended it.
func TestOneNamespaceDoesNotEndTheSession(t *testing.T) {
	l := NewLedger(Budget{}, func(err error) { t.Errorf("the session ends: %v", err) })
	send := func(namespace string, number int) (sent int) {
		for i := range number {
			object := copyOf(namespace, fmt.Sprint(namespace, "-", i), strings.Repeat("x", 1<<20))
			if l.Exceeds(nil, object) == "" {
				l.Sent(object)
				sent++
			}
		}
		return sent
	}
	if sent := send("greedy", 300); sent != 15 {
		t.Errorf("%d of the first namespace are sent, want 15: a quarter of what a list may be", sent)
	}
	if sent := send("modest", 10); sent != 10 {
		t.Errorf("%d of the second are sent, want all", sent)
	}
	larger := copyOf("greedy", "greedy-0", strings.Repeat("x", 2<<20))
	if l.Exceeds(copyOf("greedy", "greedy-0", strings.Repeat("x", 1<<20)), larger) == "" {
		t.Error("one may grow, though there is too much")
	}
	for i := range 15 {
		l.drop(copyOf("greedy", fmt.Sprint("greedy-", i), ""))
	}
	if why := l.Exceeds(nil, larger); why != "" || len(l.namespaces) != 1 {
		t.Errorf("there is no room when all are gone: %s, %v", why, l.namespaces)
	}
}
