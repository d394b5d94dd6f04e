package informer

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// NewFunc makes an informer, as cache.Options.NewInformer does.
type NewFunc = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// Shared makes informers that have one handler each, which calls all that are added. An
// informer starts two goroutines and allocates 16 KiB for each handler of its own, and one
// connection adds forty.
//
// A handler that is added late is first called with each object that the informer has.
// Changes that were on their way then, and that the objects show already, follow. So a
// handler may see an older state after a newer one; it must enqueue names, or read the
// cache. Handlers are called one after the other, and hold up those after them.
func Shared(informer NewFunc) NewFunc {
	return func(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		s := &shared{plain: plain{informer(from, object, resync, indexers)}}
		s.begin = s.beginning
		return s
	}
}

// plain puts the informer one level deeper, so that the methods of followers win over the informer's.
type plain struct{ toolscache.SharedIndexInformer }

// shared has one handler, which calls those that are added.
type shared struct {
	plain
	followers

	own toolscache.ResourceEventHandlerRegistration // Under the lock of the followers.
}

// beginning adds the informer's own handler before the first follower. Later ones begin with the
// objects that it has been called with, or is about to be.
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

// RunWithContext implements SharedInformer. The context that controller-runtime passes is not
// of Go's own kind, so that each one derived from it takes a goroutine: two for each informer.
func (s *shared) RunWithContext(ctx context.Context) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	s.SharedIndexInformer.RunWithContext(running)
}
