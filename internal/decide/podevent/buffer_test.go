package podevent

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func targetNo(i int) Target {
	return Target{"Pod", types.NamespacedName{Namespace: "remote", Name: fmt.Sprint("pod-", i)}, types.UID(fmt.Sprint("uid-", i))}
}

// ids returns the IDs of the occurrences that are kept about a pod.
func (s *Buffer) ids(target Target) []string {
	all, _ := s.Of(target)
	var ids []string
	for _, o := range all {
		ids = append(ids, o.ID)
	}
	return ids
}

func TestShelfKeepsTheMostRecentOfAPod(t *testing.T) {
	shelf, want := NewBuffer(MostKept), []string{}
	for i := range 25 {
		shelf.Put(targetNo(0), failed(fmt.Sprintf("%02d", i), 1, time.Duration(25-i)*time.Second), true, now)
	}
	for i := range mostOfOne {
		want = append(want, fmt.Sprintf("%02d", 24-i))
	}
	if diff := cmp.Diff(want, shelf.ids(targetNo(0))); diff != "" {
		t.Errorf("kept (-want +got)\n%s", diff)
	}
	if n := len(shelf.targets); n != mostOfOne {
		t.Errorf("%d are remembered, want %d", n, mostOfOne)
	}
}

func TestShelfIsBounded(t *testing.T) {
	const most = 50
	shelf := NewBuffer(most)
	shelf.Put(targetNo(-1), failed("known", 1, time.Hour), true, now) // The oldest of all.
	for i := range 3 * most {
		shelf.Put(targetNo(i), failed(fmt.Sprint("unknown-", i), 1, 0), false, now)
	}
	if got := shelf.ids(targetNo(-1)); len(got) != 1 {
		t.Errorf("what is about pods that nobody knows has pushed out what is about one that is there")
	}
	if n := len(shelf.targets); n != most {
		t.Errorf("%d are kept, want %d", n, most)
	}
	for i := range 3 * most {
		shelf.Put(targetNo(i), failed(fmt.Sprint("unknown-", i), 2, 0), true, now)
	}
	if got := shelf.ids(targetNo(-1)); len(got) != 0 {
		t.Errorf("the oldest is still kept when all are known")
	}
	if n, pods := len(shelf.targets), len(shelf.Targets()); n != most || pods != most {
		t.Errorf("%d of %d pods are kept, want %d", n, pods, most)
	}
}

// TestShelfHasRoomForEachKind checks that each kind has its own room, and that pods have the most.
func TestShelfHasRoomForEachKind(t *testing.T) {
	const most = 50
	shelf := NewBuffer(most)
	for i, kind := range []string{"Pod", "Ingress", "Service"} { // Each fills its room after the one before.
		for n := range 3 * most {
			target := targetNo(n)
			target.Kind = kind
			shelf.Put(target, failed(fmt.Sprint(kind, n), 1, time.Duration(3-i)*time.Minute), true, now)
		}
	}
	kept := map[string]int{}
	for _, target := range shelf.Targets() {
		kept[target.Kind]++
		shelf.Drop(target)
	}
	if diff := cmp.Diff(map[string]int{"Pod": most, "Ingress": most / share, "Service": most / share}, kept); diff != "" {
		t.Errorf("kept (-want +got)\n%s", diff)
	}
	shelf.Put(targetNo(0), failed("a", 1, 0), true, now)
	if diff := cmp.Diff(map[string]int{"Pod": 1, "Ingress": 0, "Service": 0}, shelf.counts); diff != "" {
		t.Errorf("counted (-want +got)\n%s", diff)
	}
}

func TestShelfForgets(t *testing.T) {
	one, other := targetNo(1), targetNo(2)
	filled := func() *Buffer {
		shelf := NewBuffer(MostKept)
		for _, o := range []Occurrence{failed("b", 1, 0), failed("a", 1, 0)} { // At the same moment, so the IDs decide.
			shelf.Put(one, o, true, now)
		}
		shelf.Put(other, failed("c", 1, 0), true, now)
		return shelf
	}
	tests := map[string]struct {
		do              func(*Buffer)
		ofOne, ofOther  []string
		known, knownToo bool
	}{
		"nothing by itself":        {func(*Buffer) {}, []string{"a", "b"}, []string{"c"}, true, true},
		"one that is gone":         {func(s *Buffer) { s.Remove("a") }, []string{"b"}, []string{"c"}, true, true},
		"the last of a pod":        {func(s *Buffer) { s.Remove("c") }, []string{"a", "b"}, nil, true, false},
		"one that never was there": {func(s *Buffer) { s.Remove("x") }, []string{"a", "b"}, []string{"c"}, true, true},
		"a pod that is gone":       {func(s *Buffer) { s.Drop(one) }, nil, []string{"c"}, false, true},
		"what is not listed again": {func(s *Buffer) {
			s.Begin()
			s.Put(one, failed("b", 2, 0), true, now)
			s.Sweep()
		}, []string{"b"}, nil, true, false},
		"where it was, when it is about another pod": {func(s *Buffer) { s.Put(other, failed("a", 1, time.Minute), true, now) },
			[]string{"b"}, []string{"c", "a"}, true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			shelf := filled()
			test.do(shelf)
			if diff := cmp.Diff([][]string{test.ofOne, test.ofOther}, [][]string{shelf.ids(one), shelf.ids(other)}); diff != "" {
				t.Errorf("kept (-want +got)\n%s", diff)
			}
			if shelf.Known(one) != test.known || shelf.Known(other) != test.knownToo {
				t.Errorf("anything is kept of the pods: %t, %t, want %t, %t", !test.known, !test.knownToo, test.known, test.knownToo)
			}
			if n := len(test.ofOne) + len(test.ofOther); len(shelf.targets) != n {
				t.Errorf("%d are remembered, want %d", len(shelf.targets), n)
			}
		})
	}
}

// TestShelfRemembersThatAPodWasSeen checks that a pod stays known. If two warnings have the same time, the
// one about a pod that was never seen is dropped first.
func TestShelfRemembersThatAPodWasSeen(t *testing.T) {
	for name, seen := range map[string]func(*Buffer){
		"before its last warning": func(s *Buffer) { s.Put(targetNo(1), failed("b", 2, 0), false, now) },
		"after its warning":       func(s *Buffer) { s.Known(targetNo(1)) },
	} {
		shelf := NewBuffer(2)
		shelf.Put(targetNo(1), failed("b", 1, 0), name == "before its last warning", now)
		shelf.Put(targetNo(2), failed("a", 1, 0), false, now)
		seen(shelf)
		shelf.Put(targetNo(3), failed("c", 1, 0), true, now)
		got := [][]string{shelf.ids(targetNo(1)), shelf.ids(targetNo(2)), shelf.ids(targetNo(3))}
		if diff := cmp.Diff([][]string{{"b"}, nil, {"c"}}, got); diff != "" {
			t.Errorf("seen %s: kept (-want +got)\n%s", name, diff)
		}
	}
}

func TestShelfKnowsSinceWhen(t *testing.T) {
	shelf := NewBuffer(MostKept)
	shelf.Put(targetNo(1), failed("a", 1, 0), false, now)
	shelf.Put(targetNo(1), failed("a", 2, 0), false, now.Add(time.Minute))
	if _, since := shelf.Of(targetNo(1)); !since.Equal(now) {
		t.Errorf("since %s, want %s", since, now)
	}
}

func TestShelfRelease(t *testing.T) {
	shelf := NewBuffer(3)
	in := func(namespace, name string) Target {
		return Target{"Pod", types.NamespacedName{Namespace: namespace, Name: name}, types.UID(namespace + name)}
	}
	for i, target := range []Target{in("a", "first"), in("a", "one"), in("b", "one"), in("a", "two")} {
		shelf.Put(target, failed(string(rune('a'+i)), 1, time.Duration(9-i)*time.Second), false, now)
	}
	got := map[Target]string{}
	release := func() {
		clear(got)
		shelf.Release("a", func(target Target, o Occurrence) { got[target] = o.ID })
	}
	release()
	// The first was removed, so there is room for three.
	if diff := cmp.Diff(map[Target]string{in("a", "one"): "b", in("a", "two"): "d"}, got); diff != "" {
		t.Errorf("released (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]Target{in("b", "one")}, shelf.Targets()); diff != "" {
		t.Errorf("left (-want +got)\n%s", diff)
	}
	if release(); len(got) > 0 {
		t.Errorf("released twice: %v", got)
	}
}

// TestWarningsStay: normal events, however recent, push out no warning, neither of their object nor of another one.
func TestWarningsStay(t *testing.T) {
	const most = 30
	shelf := NewBuffer(most)
	warns := failed("warning", 1, time.Hour)
	shelf.Put(targetNo(0), warns, true, now)
	shelf.Put(targetNo(1), failed("another", 1, time.Hour), true, now)
	for i := range 3 * mostOfOne {
		shelf.Put(targetNo(0), usual(fmt.Sprint("one-", i)), true, now)
	}
	for i := range 3 * most {
		shelf.Put(targetNo(i+2), usual(fmt.Sprint("normal-", i)), true, now)
	}
	if got, _ := shelf.Of(targetNo(0)); len(got) == 0 || got[0] != warns {
		t.Errorf("of the object with normal events, too, there is kept %v", got)
	}
	if got := shelf.ids(targetNo(1)); len(got) != 1 {
		t.Error("the warning about another object was pushed out")
	}
	if n := len(shelf.targets); n != most {
		t.Errorf("%d are kept, want %d", n, most)
	}
}
