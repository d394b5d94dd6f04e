package rights

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// MissingError is a refusal that switches a kind off, and ends nothing.
type MissingError struct{ error }

// Unwrap is the answer of the API server.
func (e MissingError) Unwrap() error { return e.error }

// Watched lists and watches a resource that a provider need not let us read, and
// notes what it answers. An informer goes on asking, ever more seldom, in the end
// about three times a minute: so a right that is given takes effect by itself.
//
// The first list that is refused is answered with an empty one, for nobody can read
// from a cache that was never filled. A later one is an error, and the cache keeps
// what it has: nothing was deleted.
func (r *Rights) Watched(from toolscache.ListerWatcher, resource string, empty func() runtime.Object) toolscache.ListerWatcher {
	w := &watched{from: toolscache.ToListerWatcherWithContext(from), resource: resource, rights: r, empty: empty}
	return &toolscache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}
}

type watched struct {
	from     toolscache.ListerWatcherWithContext
	resource string
	rights   *Rights
	empty    func() runtime.Object

	mu sync.Mutex
	// filled is set once the cache has got anything from us, and pretended has the
	// refusal while that is nothing but the empty list.
	filled    bool
	pretended error
}

func (w *watched) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := w.from.ListWithContext(ctx, options)
	w.rights.Note(w.resource, "list", err)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.filled, w.pretended = true, nil
	case apierrors.IsForbidden(err) && !w.filled:
		w.filled, w.pretended = true, MissingError{err}
		return w.empty(), nil
	case apierrors.IsForbidden(err):
		return list, MissingError{err}
	}
	return list, err
}

func (w *watched) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	whole := options.SendInitialEvents != nil && *options.SendInitialEvents
	w.mu.Lock()
	pretended := w.pretended
	w.mu.Unlock()
	if pretended != nil && !whole {
		return nil, pretended // There is nothing to go on from.
	}
	stream, err := w.from.WatchWithContext(ctx, options)
	w.rights.Note(w.resource, "watch", err)
	if apierrors.IsForbidden(err) {
		return nil, MissingError{err}
	}
	if err == nil && whole { // Which is as good as a list.
		w.rights.Note(w.resource, "list", nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.filled, w.pretended = true, nil
	}
	return stream, err
}
