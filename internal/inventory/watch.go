package inventory

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/informer"
	"github.com/spillway-io/spillway/internal/views"
)

// Settle is how long readers of many pods wait: a thousand pods that leave together are
// read twice a second, not a thousand times.
const Settle = 500 * time.Millisecond

// Source queues, for a controller, what requests makes of each change, after delay.
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

// Listing queues, for a controller, what requests makes of the metadata of each of the
// consumer's objects of the copied kinds, and of each change; not of what is gone.
func Listing[R comparable](r *Inventory, requests func(gvk schema.GroupVersionKind, obj client.Object) []R) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		for _, kind := range r.copied {
			gvk, err := apiutil.GVKForObject(kind, r.scheme)
			if err != nil {
				return fmt.Errorf("the kind of %T: %w", kind, err)
			}
			metadata := &metav1.PartialObjectMetadata{}
			metadata.SetGroupVersionKind(gvk)
			if err := informer.Watch(ctx, r.views.Catalogue, metadata, func(e informer.Change) {
				if e.After == nil {
					return
				}
				for _, request := range requests(gvk, e.After) {
					queue.Add(request)
				}
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// watch sends the changes of a view. Its initial contents are no change.
func (r *Inventory) watch(ctx context.Context, name string, view *views.View) error {
	if err := informer.Watch(ctx, view, &corev1.Pod{}, func(e informer.Change) { r.podChanged(name, e) }); err != nil {
		return err
	}
	for _, kind := range r.copied {
		if err := informer.Watch(ctx, view, kind, func(e informer.Change) {
			if !e.Initially && (e.Before == nil || e.After == nil) {
				r.tell(Change{Binding: name, Copies: true})
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
		r.forget(name, client.ObjectKeyFromObject(pod))
	case !there, e.Initially, known && !matters(before, pod):
		return
	}
	r.tell(Change{Binding: name, Pod: pod})
}

// matters reports whether a change of a pod matters to anybody here: it is another pod,
// is being deleted, or has ended.
func matters(before, after *corev1.Pod) bool {
	return before.UID != after.UID ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		eviction.Occupies(before) != eviction.Occupies(after)
}
