package syncer

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// urgent is the priority of what goes before the rest.
const urgent = 1

// queue takes the names of objects that a pass is made over. Before its controller has
// started it takes none: that begins with a pass over all there is.
type queue struct {
	queue atomic.Pointer[priorityqueue.PriorityQueue[reconcile.Request]]
}

// Enqueue has a pass made over each of these local objects.
func (q *queue) Enqueue(keys ...types.NamespacedName) { q.add(0, keys) }

// EnqueueUrgent has one made before those over other objects.
func (q *queue) EnqueueUrgent(keys ...types.NamespacedName) { q.add(urgent, keys) }

func (q *queue) add(priority int, keys []types.NamespacedName) {
	queue := q.queue.Load()
	if queue == nil {
		return
	}
	for _, key := range keys {
		(*queue).AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, reconcile.Request{NamespacedName: key})
	}
}

// source is the queue of a controller that has start called when it is there.
func (q *queue) source(start func(context.Context) error) source.Source {
	return source.TypedFunc[reconcile.Request](func(ctx context.Context, of workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		prioritized, ok := of.(priorityqueue.PriorityQueue[reconcile.Request])
		if !ok {
			return fmt.Errorf("%T has no priorities", of)
		}
		q.queue.Store(&prioritized)
		return start(ctx)
	})
}
