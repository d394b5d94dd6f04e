package views

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// NewInformer is for caches of metadata. The library wraps such a watch in a watch.Filter. Its goroutine
// blocks forever if the watch is stopped while it has an event to deliver, which happens when a manager ends.
// A test that runs thousands of managers in one process would keep all these goroutines.
func NewInformer(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: toolscache.ToListerWatcherWithContext(from).ListWithContext, WatchFuncWithContext: drainedWatch(from),
	}, object, resync, indexers)
}

func drainedWatch(from toolscache.ListerWatcher) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		stream, err := toolscache.ToListerWatcherWithContext(from).WatchWithContext(ctx, options)
		if err != nil {
			return nil, err
		}
		return drained{stream}, nil
	}
}

// drained consumes the remaining events of a stopped watch, until the watch is closed.
type drained struct{ watch.Interface }

// Stop implements watch.Interface.
func (d drained) Stop() {
	d.Interface.Stop()
	go func() {
		for range d.ResultChan() {
		}
	}()
}
