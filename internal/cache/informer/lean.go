package informer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// lean is the informer that New returns.
type lean struct {
	store
	reflector *toolscache.Reflector
	onError   toolscache.WatchErrorHandlerWithContext // Under the lock of the store until the start.
	started   bool                                    // Under the lock of the store.
}

var (
	_ toolscache.SharedIndexInformer    = &lean{}
	_ toolscache.TransformingStore      = &store{}
	_ toolscache.ReflectorBookmarkStore = &store{}
)

// New returns an informer that calls its handlers as client-go's informer does, with five goroutines less and
// no buffer of 16 KiB. Its Reflector writes into the indexer itself. Handlers run in a goroutine that ends when
// all calls are made, so an idle informer has none.
//
// Handlers are called one after the other, and a slow one delays the others. It delays neither the watch nor
// the indexer: an API server buffers ten events for a watch of the pods of a node, and then ends it. A handler
// that is added late is called with each object of the informer, and then with each later change. The period of
// resyncs is the informer's for all handlers.
func New(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	l := &lean{store: store{
		calls:   calls{name: fmt.Sprintf("%T", object), synced: make(chan struct{})},
		indexer: toolscache.NewIndexer(toolscache.DeletionHandlingMetaNamespaceKeyFunc, indexers),
	}, onError: toolscache.DefaultWatchErrorHandler}
	l.reflector = toolscache.NewReflectorWithOptions(from, object, &l.store, toolscache.ReflectorOptions{ResyncPeriod: resync, Backoff: &backoff})
	return l
}

// backoff is client-go's, which it does not export: for a watch that fails, and between lists.
var backoff = wait.Backoff{Duration: 800 * time.Millisecond, Cap: 30 * time.Second, Steps: 38, Factor: 2, Jitter: 1}

// healthy is how long a list or watch must last for the next delay to be short again. It is client-go's, too.
const healthy = 2 * time.Minute

// RunWithContext implements SharedInformer. It runs with a context of Go's own type. The context from
// controller-runtime has another type, so each context derived from it would take a goroutine.
//
// It does what Reflector.RunWithContext does, which would not call the informer's own handler of errors.
func (l *lean) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	if l.configure(func() { l.started = true }) != nil {
		log.FromContext(ctx).Info("The informer runs already", "type", l.name)
		return
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer l.stop()
	_ = backoff.DelayWithReset(clock.RealClock{}, healthy).Until(running, true, true, func(ctx context.Context) (bool, error) {
		if err := l.reflector.ListAndWatchWithContext(ctx); err != nil {
			l.onError(ctx, l.reflector, err)
		}
		return false, nil
	})
}

// Run implements SharedInformer.
func (l *lean) Run(stop <-chan struct{}) { l.RunWithContext(wait.ContextForChannel(stop)) }

// configure changes what must not change after the start.
func (l *lean) configure(change func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started {
		return errors.New("the informer has started")
	}
	change()
	return nil
}

// SetTransform implements SharedInformer.
func (l *lean) SetTransform(transform toolscache.TransformFunc) error {
	return l.configure(func() { l.transform = transform })
}

// SetWatchErrorHandlerWithContext implements SharedInformer.
func (l *lean) SetWatchErrorHandlerWithContext(handler toolscache.WatchErrorHandlerWithContext) error {
	return l.configure(func() { l.onError = handler })
}

// SetWatchErrorHandler implements SharedInformer.
func (l *lean) SetWatchErrorHandler(handler toolscache.WatchErrorHandler) error {
	return l.SetWatchErrorHandlerWithContext(func(_ context.Context, r *toolscache.Reflector, err error) { handler(r, err) })
}

// AddIndexers implements SharedIndexInformer.
func (l *lean) AddIndexers(indexers toolscache.Indexers) error {
	if l.IsStopped() {
		return errStopped
	}
	return l.indexer.AddIndexers(indexers)
}

// GetStore implements SharedInformer.
func (l *lean) GetStore() toolscache.Store { return l.indexer }

// GetIndexer implements SharedIndexInformer.
func (l *lean) GetIndexer() toolscache.Indexer { return l.indexer }

// GetController implements SharedInformer.
func (l *lean) GetController() toolscache.Controller { return l }

// LastSyncResourceVersion implements SharedInformer.
func (l *lean) LastSyncResourceVersion() string { return l.reflector.LastSyncResourceVersion() }
