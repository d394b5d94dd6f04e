package watch

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/work"
)

func TestUrgent(t *testing.T) {
	pod := &corev1.Pod{}
	gone := func(_, after *corev1.Pod) bool { return after == nil }
	for name, test := range map[string]struct {
		change informer.Change
		urgent func(before, after *corev1.Pod) bool
		want   bool
	}{
		"seen first":                {informer.Change{After: pod}, gone, false},
		"changed":                   {informer.Change{Before: pod, After: pod}, gone, false},
		"gone":                      {informer.Change{Before: pod}, gone, true},
		"gone, as of a later list":  {informer.Change{Before: pod, Unseen: true, Listed: "7"}, gone, true},
		"gone, and nobody waits":    {informer.Change{Before: pod}, nil, false},
		"of a kind of another type": {informer.Change{Before: &corev1.Secret{}}, gone, false},
	} {
		w := &Watcher[*corev1.Pod]{Kind: &kind.Kind[*corev1.Pod]{Urgent: test.urgent}}
		if got := w.priority(test.change) == work.Urgent; got != test.want {
			t.Errorf("%s: urgent is %t, want %t", name, got, test.want)
		}
	}
}
