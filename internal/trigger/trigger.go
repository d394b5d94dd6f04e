// Package trigger holds what several controllers watch: sources, handlers and predicates. All of it is pure,
// except for reading caches.
package trigger

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
)

// Queue is what handlers add to.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// MadeAgain reports whether an object was deleted and recreated under its name while the watch was down. The
// list after that shows it as a change of the old object.
func MadeAgain(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() }

// Named returns a request for a cluster-scoped object.
func Named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// Offloading returns a request for the NamespaceOffloading of a namespace.
func Offloading(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: v1alpha1.OffloadingName}}
}

// OffloadingsOf returns requests for the NamespaceOffloadings of namespaces.
func OffloadingsOf(namespaces []string) []reconcile.Request {
	requests := make([]reconcile.Request, 0, len(namespaces))
	for _, namespace := range namespaces {
		requests = append(requests, Offloading(namespace))
	}
	return requests
}

// Matching returns requests for the objects of a kind for which match holds. list is an empty list of them. It checks all objects in the
// cache; a pass with nothing to do sends no request. If the cache cannot be read, it is stopping, like the
// manager, so Matching returns none.
func Matching[T client.Object](ctx context.Context, cache client.Reader, kind T, list client.ObjectList, match func(T) bool) []reconcile.Request {
	all, err := informer.All(ctx, cache, kind, list)
	if err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, object := range all {
		if match(object) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
		}
	}
	return requests
}

// Bindings returns requests for the ClusterBindings for which match holds.
func Bindings(ctx context.Context, cache client.Reader, match func(*v1alpha1.ClusterBinding) bool) []reconcile.Request {
	return Matching(ctx, cache, &v1alpha1.ClusterBinding{}, &v1alpha1.ClusterBindingList{}, match)
}

// Offloadings returns requests for the NamespaceOffloadings for which match holds.
func Offloadings(ctx context.Context, cache client.Reader, match func(*v1alpha1.NamespaceOffloading) bool) []reconcile.Request {
	return Matching(ctx, cache, &v1alpha1.NamespaceOffloading{}, &v1alpha1.NamespaceOffloadingList{}, match)
}

// NotStatus ignores updates of the status alone. It passes changes of the spec, the finalizers and the
// deletion.
func NotStatus() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return MadeAgain(e) || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			!equality.Semantic.DeepEqual(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) ||
			!equality.Semantic.DeepEqual(e.ObjectOld.GetDeletionTimestamp(), e.ObjectNew.GetDeletionTimestamp())
	}}
}

// NotOurs passes all updates except the echo of this process's last write. So the controller sees, and
// corrects, a status that somebody else has written or emptied.
func NotOurs(written *ownwrites.Versions) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return !written.IsLast(e.ObjectNew) }}
}

// Reach passes changes of a ClusterBinding's spec, and of whether and why its provider is unreachable.
func Reach() predicate.Predicate {
	return OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool {
		return before.Generation != after.Generation || namespaceoffloading.Unreachable(before) != namespaceoffloading.Unreachable(after)
	})
}

// Updated passes updates for which differs holds, and all creations and deletions.
func Updated[T client.Object](differs func(before, after T) bool) predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(T)
		after, ok2 := e.ObjectNew.(T)
		return ok1 && ok2 && differs(before, after)
	}}
}

// OnlyUpdated is Updated, but passes no creations.
func OnlyUpdated[T client.Object](differs func(before, after T) bool) predicate.Funcs {
	only := Updated(differs)
	only.CreateFunc = func(event.CreateEvent) bool { return false }
	return only
}

// OnChange enqueues the requests for a change of an object. before is nil if the object is new, and after is
// nil if it is gone. Objects that exist at the start are no change.
func OnChange[T client.Object, R comparable](requests func(ctx context.Context, before, after T) []R) handler.TypedEventHandler[client.Object, R] {
	return OnChangeAfter(0, requests)
}

// OnChangeAfter is OnChange that enqueues after a moment, once for all changes until then.
func OnChangeAfter[T client.Object, R comparable](
	moment time.Duration, requests func(ctx context.Context, before, after T) []R,
) handler.TypedEventHandler[client.Object, R] {
	type queue = workqueue.TypedRateLimitingInterface[R]
	add := func(ctx context.Context, before, after client.Object, q queue) {
		was, _ := before.(T)
		is, _ := after.(T)
		for _, request := range requests(ctx, was, is) {
			q.AddAfter(request, moment)
		}
	}
	return handler.TypedFuncs[client.Object, R]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList {
				add(ctx, nil, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { add(ctx, e.ObjectOld, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, e.Object, nil, q) },
	}
}
