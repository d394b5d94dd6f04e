package trigger

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// SharedWith leads from a ClusterBinding to those of the same provider, or of one that says so, if what it
// takes of that may have changed: its spec, which provider it is, and its end.
func SharedWith(cache client.Reader) handler.EventHandler {
	enqueue := func(ctx context.Context, objects ...client.Object) []reconcile.Request {
		return Bindings(ctx, cache, func(other *v1alpha1.ClusterBinding) bool {
			for _, object := range objects {
				if binding, ok := object.(*v1alpha1.ClusterBinding); ok && placement.SameIdentity(binding, other) {
					return true
				}
			}
			return false
		})
	}
	add := func(q Queue, requests []reconcile.Request) {
		for _, request := range requests {
			q.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q Queue) { add(q, enqueue(ctx, e.Object)) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q Queue) {
			if takesOther(e) {
				add(q, enqueue(ctx, e.ObjectOld, e.ObjectNew))
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q Queue) { add(q, enqueue(ctx, e.Object)) },
	}
}

func takesOther(e event.UpdateEvent) bool {
	before, ok1 := e.ObjectOld.(*v1alpha1.ClusterBinding)
	after, ok2 := e.ObjectNew.(*v1alpha1.ClusterBinding)
	return !ok1 || !ok2 || before.Generation != after.Generation || placement.Identified(before, after) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}
