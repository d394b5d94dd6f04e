package syncer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/informer"
	"github.com/spillway-io/spillway/internal/kind"
)

func TestPriority(t *testing.T) {
	pod := &corev1.Pod{}
	gone := func(_, after *corev1.Pod) bool { return after == nil }
	for name, test := range map[string]struct {
		change informer.Change
		urgent func(before, after *corev1.Pod) bool
		want   int
	}{
		"seen first":                {informer.Change{After: pod}, gone, 0},
		"changed":                   {informer.Change{Before: pod, After: pod}, gone, 0},
		"gone":                      {informer.Change{Before: pod}, gone, urgent},
		"gone, as of a later list":  {informer.Change{Before: pod, Unseen: true, Listed: "7"}, gone, urgent},
		"gone, and nobody waits":    {informer.Change{Before: pod}, nil, 0},
		"of a kind of another type": {informer.Change{Before: &corev1.Secret{}}, gone, 0},
	} {
		c := &kindController[*corev1.Pod]{Kind: kind.Kind[*corev1.Pod]{Urgent: test.urgent}}
		if got := c.priority(test.change); got != test.want {
			t.Errorf("%s: priority %d, want %d", name, got, test.want)
		}
	}
}

func TestUrgentBeforeTheRest(t *testing.T) {
	c := &kindController[*corev1.Pod]{}
	c.enqueue(types.NamespacedName{Name: "before the start"})
	c.queue = priorityqueue.New[reconcile.Request](t.Name())
	defer c.queue.ShutDown()
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "team", Name: name} }
	c.enqueue(key("first"), key("second"), key("third"))
	c.enqueueWith(urgent, key("third"), key("fourth"))
	c.enqueue(key("fourth"))
	var order []string
	for range 4 {
		request, _, _ := c.queue.GetWithPriority()
		order = append(order, request.Name)
	}
	if diff := cmp.Diff([]string{"third", "fourth", "first", "second"}, order); diff != "" {
		t.Errorf("order of the passes (-want +got):\n%s", diff)
	}
}
