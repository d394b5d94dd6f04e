package informer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
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
		return &shared{SharedIndexInformer: informer(from, object, resync, indexers)}
	}
}

// shared has one handler, which calls those that are added.
type shared struct {
	toolscache.SharedIndexInformer

	mu        sync.Mutex // Never held while a handler is called.
	own       toolscache.ResourceEventHandlerRegistration
	followers []*follower // Copied to be changed.
}

// follower is a handler that was added. It has synced when the informer's own has.
type follower struct {
	toolscache.ResourceEventHandlerRegistration
	handler toolscache.ResourceEventHandler
	mu      sync.Mutex // Held while the handler is called.
	ended   atomic.Bool
}

// AddEventHandler implements SharedInformer.
func (s *shared) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	f := &follower{handler: handler}
	f.mu.Lock() // Changes wait until the handler has been called with what is there.
	defer f.mu.Unlock()
	there, err := s.add(f)
	if err != nil {
		return nil, err
	}
	for _, obj := range there {
		handler.OnAdd(obj, true)
	}
	return f, nil
}

// AddEventHandlerWithResyncPeriod implements SharedInformer. The period is the informer's.
func (s *shared) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements SharedInformer, without the options.
func (s *shared) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// add adds a follower, and returns the objects that the informer's own handler has been
// told of, or is about to be.
func (s *shared) add(f *follower) (there []any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.own == nil:
		if s.own, err = s.SharedIndexInformer.AddEventHandler(s.handlerOfAll()); err != nil {
			return nil, err
		}
	case s.IsStopped():
		return nil, errors.New("the informer has stopped")
	default:
		there = s.GetStore().List()
	}
	f.ResourceEventHandlerRegistration = s.own
	s.followers = append(slices.Clip(s.followers), f)
	return there, nil
}

// handlerOfAll is the informer's own.
func (s *shared) handlerOfAll() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initially bool) {
			s.each(func(h toolscache.ResourceEventHandler) { h.OnAdd(obj, initially) })
		},
		UpdateFunc: func(before, after any) {
			s.each(func(h toolscache.ResourceEventHandler) { h.OnUpdate(before, after) })
		},
		DeleteFunc: func(obj any) { s.each(func(h toolscache.ResourceEventHandler) { h.OnDelete(obj) }) },
	}
}

func (s *shared) each(do func(toolscache.ResourceEventHandler)) {
	s.mu.Lock()
	followers := s.followers
	s.mu.Unlock()
	for _, f := range followers {
		f.call(do)
	}
}

func (f *follower) call(do func(toolscache.ResourceEventHandler)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ended.Load() {
		do(f.handler)
	}
}

// RemoveEventHandler implements SharedInformer. No call of the handler begins after it.
func (s *shared) RemoveEventHandler(registration toolscache.ResourceEventHandlerRegistration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(s.followers), func(f *follower) bool { return registration == f })
	if len(kept) == len(s.followers) {
		return nil // Removed before.
	}
	if f, ok := registration.(*follower); ok {
		f.ended.Store(true)
	}
	s.followers = kept
	return nil
}

// RunWithContext implements SharedInformer. The context that controller-runtime passes is not
// of Go's own kind, so that each one derived from it takes a goroutine: two for each informer.
func (s *shared) RunWithContext(ctx context.Context) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
		case <-running.Done():
		}
	}()
	s.SharedIndexInformer.RunWithContext(running)
}
