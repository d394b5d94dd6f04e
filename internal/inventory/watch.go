package inventory

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide/eviction"
)

// Settle is how long readers of many pods wait. A thousand pods that leave together are then read twice a
// second, not a thousand times.
const Settle = 500 * time.Millisecond

// Source is a source for a controller. It enqueues the requests for each change after delay.
func Source[R comparable](r *Inventory, delay time.Duration, requests func(context.Context, Change) []R) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		r.subscribe(func(change Change) {
			for _, request := range requests(ctx, change) {
				if delay > 0 {
					queue.AddAfter(request, delay)
				} else {
					queue.Add(request)
				}
			}
		})
		return nil
	})
}

// watch sends the changes of a view. Its initial content causes no change.
func (r *Inventory) watch(ctx context.Context, name string, view *views.View) error {
	if err := informer.Watch(ctx, view, &corev1.Pod{}, func(e informer.Change) { r.podChanged(name, e) }); err != nil {
		return err
	}
	for _, kind := range r.views.Kinds {
		if err := informer.Watch(ctx, view, kind.Object, func(e informer.Change) {
			if !e.Initially && (e.Before == nil || e.After == nil) {
				r.notify(Change{Binding: name, Copies: true})
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Inventory) podChanged(name string, e informer.Change) {
	before, known := e.Before.(*corev1.Pod)
	pod, there := e.After.(*corev1.Pod)
	switch {
	case known && !there:
		pod = before
		r.refuse(name, client.ObjectKeyFromObject(pod), "")
	case !there, e.Initially:
		return
	case known && !matters(before, pod):
		if problemOf(before) != problemOf(pod) {
			r.problems.notify(name, pod)
		}
		return
	}
	r.notify(Change{Binding: name, Pod: pod})
}

// matters reports whether a change of a pod matters to any reader: the pod is another one, is being deleted, has ended, or
// has another spec, for example because it was resized.
func matters(before, after *corev1.Pod) bool {
	return before.UID != after.UID || before.Generation != after.Generation ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		eviction.BlocksDeletion(before) != eviction.BlocksDeletion(after)
}
