package informer

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// NewFunc creates an informer, like cache.Options.NewInformer.
type NewFunc = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// Shared returns a NewFunc for informers with one handler each, which calls all handlers that are added. An
// informer starts two goroutines and allocates 16 KiB for each of its own handlers, and one connection adds
// forty.
//
// A handler that is added late is first called with each object of the informer. Changes that were on their
// way then follow, although the objects show them already. So a handler may see an older state after a newer
// one. It must enqueue names, or read the cache. Handlers are called one after the other, and a slow one
// delays the others.
func Shared(informer NewFunc) NewFunc {
	return func(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		s := &shared{plain: plain{informer(from, object, resync, indexers)}}
		s.begin = s.beginning
		return s
	}
}

// plain embeds the informer one level deeper, so that the methods of followers win over the informer's.
type plain struct{ toolscache.SharedIndexInformer }

// shared has one handler, which calls those that are added.
type shared struct {
	plain
	followers

	own toolscache.ResourceEventHandlerRegistration // Under the lock of the followers.
}

// beginning adds the informer's own handler before the first follower. Later followers begin with the objects
// that this handler has been called with, or is about to be.
func (s *shared) beginning() (there []any, own toolscache.ResourceEventHandlerRegistration, err error) {
	switch {
	case s.own == nil:
		if s.own, err = s.SharedIndexInformer.AddEventHandler(handlerBy(s.each)); err != nil {
			return nil, nil, err
		}
	case s.IsStopped():
		return nil, nil, errors.New("the informer has stopped")
	default:
		there = s.GetStore().List()
	}
	return there, s.own, nil
}

// RunWithContext implements SharedInformer. It runs with a context of Go's own type. The context from
// controller-runtime has another type, so each context derived from it would take a goroutine: two for each
// informer.
func (s *shared) RunWithContext(ctx context.Context) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	s.SharedIndexInformer.RunWithContext(running)
}
