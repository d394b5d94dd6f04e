package residents

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/internal/eviction"
	"github.com/spillway-io/spillway/internal/views"
)

// Settle is how long those wait who look at many pods at once: a thousand pods
// that leave together are looked at twice a second, not a thousand times.
const Settle = 500 * time.Millisecond

// Source asks a controller for what requests makes of each change, after delay.
func Source[R comparable](r *Residents, delay time.Duration, requests func(context.Context, Change) []R) source.TypedSource[R] {
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

// watch tells of the changes of a view. What it is filled with is no change.
func (r *Residents) watch(ctx context.Context, name string, view *views.View) error {
	pods, err := informer(ctx, view, &corev1.Pod{})
	if err != nil {
		return err
	}
	if _, err := pods.AddEventHandler(r.podHandler(name)); err != nil {
		return fmt.Errorf("watching the pods on Node %s: %w", view.Node, err)
	}
	for _, kind := range r.copied {
		copies, err := informer(ctx, view, kind)
		if err != nil {
			return err
		}
		changed := func() { r.tell(Change{Binding: name, Copies: true}) }
		if _, err := copies.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
			AddFunc: func(_ any, initially bool) {
				if !initially {
					changed()
				}
			},
			DeleteFunc: func(any) { changed() },
		}); err != nil {
			return fmt.Errorf("watching %T for ClusterBinding %s: %w", kind, name, err)
		}
	}
	return nil
}

func (r *Residents) podHandler(name string) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initially bool) {
			if pod, ok := obj.(*corev1.Pod); ok && !initially {
				r.tell(Change{Binding: name, Pod: pod})
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok1 := before.(*corev1.Pod)
			is, ok2 := after.(*corev1.Pod)
			if ok1 && ok2 && matters(was, is) {
				r.tell(Change{Binding: name, Pod: is})
			}
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				r.forget(name, client.ObjectKeyFromObject(pod))
				r.tell(Change{Binding: name, Pod: pod})
			}
		},
	}
}

// matters tells whether it makes a difference to anybody here that a pod has
// changed: that it is another one, is going, or has ended.
func matters(before, after *corev1.Pod) bool {
	return before.UID != after.UID ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		eviction.Occupies(before) != eviction.Occupies(after)
}
