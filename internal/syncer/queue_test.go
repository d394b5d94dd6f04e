package syncer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestUrgentBeforeTheRest(t *testing.T) {
	var q queue
	q.Enqueue(types.NamespacedName{Name: "before the start"})
	of := priorityqueue.New[reconcile.Request](t.Name())
	defer of.ShutDown()
	q.queue.Store(&of)
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "team", Name: name} }
	q.Enqueue(key("first"), key("second"), key("third"))
	q.EnqueueUrgent(key("third"), key("fourth"))
	q.Enqueue(key("fourth"))
	var order []string
	for range 4 {
		request, _, _ := of.GetWithPriority()
		order = append(order, request.Name)
	}
	if diff := cmp.Diff([]string{"third", "fourth", "first", "second"}, order); diff != "" {
		t.Errorf("order of the passes (-want +got):\n%s", diff)
	}
}
