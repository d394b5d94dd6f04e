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

// MissingError is an answer that switches a kind off, and does not end the connection.
type MissingError struct{ error }

// Unwrap returns the API server's answer.
func (e MissingError) Unwrap() error { return e.error }

// Watched lists and watches a resource that a provider may refuse or not serve, and notes its answers. An
// informer keeps asking, more and more rarely, in the end about three times a minute. So a granted right takes
// effect by itself.
//
// A right counts as granted once the cache has what the right lets the manager read. Decisions before that
// would rest on nothing.
//
// Watched answers the first refused list with an empty one, because nobody can read from a cache that was never
// filled. A later refusal is an error, and the cache keeps its objects: nothing was deleted. If empty is nil,
// the first refusal is an error, too.
func (r *Rights) Watched(from toolscache.ListerWatcher, resource string, empty func() runtime.Object) toolscache.ListerWatcher {
	w := &watched{from: toolscache.ToListerWatcherWithContext(from), resource: resource, rights: r, empty: empty}
	return &toolscache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}
}

// isMissing reports whether an answer switches a kind off.
func isMissing(err error) bool { return apierrors.IsForbidden(err) || isNotServed(err) }

type watched struct {
	from     toolscache.ListerWatcherWithContext
	resource string
	rights   *Rights
	empty    func() runtime.Object

	mu sync.Mutex
	// filled is set once the cache has got any list. pretended is the refusal while that is only the empty
	// list.
	filled    bool
	pretended error
}

func (w *watched) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := w.from.ListWithContext(ctx, options)
	if err == nil {
		w.fill(nil) // The right is noted when the watch begins: then the cache has the list.
		return list, nil
	}
	w.rights.Note(w.resource, "list", err)
	if !isMissing(err) {
		return list, err
	}
	if missing := (MissingError{err}); w.empty != nil && w.fill(missing) {
		return w.empty(), nil
	}
	return list, MissingError{err}
}

// fill notes what the cache gets: a list, or an empty list after a refusal. first reports whether it is the
// first, the only time that the cache gets an empty one.
func (w *watched) fill(refused error) (first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if refused != nil && w.filled {
		return false
	}
	w.filled, w.pretended = true, refused
	return true
}

func (w *watched) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	whole := options.SendInitialEvents != nil && *options.SendInitialEvents
	if !whole {
		w.mu.Lock()
		pretended := w.pretended
		w.mu.Unlock()
		if pretended != nil {
			return nil, pretended // There is no list to continue from.
		}
		w.rights.Note(w.resource, "list", nil)
	}
	stream, err := w.from.WatchWithContext(ctx, options)
	if isMissing(err) {
		w.rights.Note(w.resource, "watch", err)
		return nil, MissingError{err}
	}
	if err != nil {
		return nil, err
	}
	if whole {
		return newBeginning(stream, w.begun), nil
	}
	w.rights.Note(w.resource, "watch", nil)
	return stream, nil
}

// begun notes that a watch that replaces a list has shown all objects.
func (w *watched) begun() {
	w.fill(nil)
	w.rights.Note(w.resource, "list", nil)
	w.rights.Note(w.resource, "watch", nil)
}
