package order

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rooms is the beginning of each case: a local tier with room for one pod, and two more.
var rooms = []Event{{Kind: Room, N: 1}, {Kind: Room, Tier: 1, N: 2}, {Kind: Room, Tier: 2, N: 2}}

func TestViolations(t *testing.T) {
	place := func(pod string, tier int) Event { return Event{Kind: Placed, Pod: pod, Tier: tier} }
	leave := func(pod string, tier int) Event { return Event{Kind: Leaves, Pod: pod, Tier: tier} }
	gone := func(pod string, tier int) Event { return Event{Kind: Gone, Pod: pod, Tier: tier} }
	full := []Event{place("a", 0), place("b", 1), place("c", 1), place("d", 2)}
	asked := Event{Kind: Asked}
	for name, test := range map[string]struct {
		events []Event
		want   []string
	}{
		"in order":                        {full, nil},
		"past an empty tier":              {[]Event{place("a", 0), place("b", 2)}, []string{"pod b was placed in tier 2 while tier 1 had room for 2"}},
		"past the first tier":             {[]Event{place("a", 1)}, []string{"pod a was placed in tier 1 while tier 0 had room for 1"}},
		"one that leaves takes up room":   {append(full[:1:1], leave("a", 0), place("b", 1)), nil},
		"one that is gone does not":       {append(full[:1:1], leave("a", 0), gone("a", 0), place("b", 1)), []string{"pod b was placed in tier 1 while tier 0 had room for 1"}},
		"there is more room":              {append(full[:1:1], Event{Kind: Room, N: 2}, place("b", 1)), []string{"pod b was placed in tier 1 while tier 0 had room for 1"}},
		"the last tier empties first":     {append(full[:4:4], asked, leave("d", 2), asked, leave("c", 1)), nil},
		"another empties first":           {append(full[:4:4], asked, leave("c", 1), asked, leave("d", 2)), []string{"pod c has left tier 1, and tier 2 still has pods"}},
		"and nothing is asked for later":  {append(full[:4:4], asked, leave("c", 1)), []string{"pod c has left tier 1, and tier 2 still has pods"}},
		"both empty at once":              {append(full[:4:4], asked, leave("c", 1), leave("d", 2)), nil},
		"one without a node leaves":       {append(full[:4:4], asked, leave("e", Nowhere), gone("e", Nowhere)), nil},
		"it comes back to an earlier one": {append(full[:4:4], leave("d", 2), gone("d", 2), Event{Kind: Room, N: 2}, place("e", 0)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Violations(append(rooms[:3:3], test.events...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]int{4, 2, 0}, Fill(6, []int{4, 9, 9})); diff != "" {
		t.Errorf("6 pods in order (-want +got):\n%s", diff)
	}
}

// TestNote plays the life of a pod, as a watch shows it.
func TestNote(t *testing.T) {
	l := &Log{pods: map[types.UID]*seen{}, changed: make(chan struct{}), tierOf: func(node string) int { return len(node) }}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "a"}}
	l.Rooms([]int{1})
	l.Ask(1, "one")
	l.note(pod, false)
	pod.Spec.NodeName = "x"
	l.note(pod, false)
	l.note(pod, false)
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	l.note(pod, false)
	if err := l.Await(t.Context(), 2, Settled(1)); err != nil {
		t.Error(err)
	}
	l.note(pod, true)
	if state, _ := l.state(2); Settled(1)(state) || state.All != 0 {
		t.Errorf("it is gone: %+v", state)
	}
	want := []Event{
		{Kind: Room, N: 1}, {Kind: Asked, N: 1, Note: "one"}, {Kind: Created, Pod: "a", Tier: Nowhere}, {Kind: Placed, Pod: "a", Tier: 1},
		{Kind: Ready, Pod: "a", Tier: 1}, {Kind: Leaves, Pod: "a", Tier: 1}, {Kind: Gone, Pod: "a", Tier: 1},
	}
	got := l.Events()
	for i := range got {
		got[i].At = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantSamples := []Sample{{0, 1, []int{0, 0}}, {0, 1, []int{0, 1}}, {time.Duration(0), 1, []int{0, 0}}}
	if diff := cmp.Diff(wantSamples, Samples(got, 2)); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}
