package informer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

// followers are handlers that are called one after the other.
type followers struct {
	// begin is called under the lock when a handler is added. The handler is then called with each object
	// that begin returns. The other handlers know these objects, or are about to.
	begin func() (there []any, own toolscache.ResourceEventHandlerRegistration, err error)

	mu  sync.Mutex  // Never held while a handler is called.
	all []*follower // Copied before it is changed.
}

// follower is a handler that was added. It has synced when its informer has.
type follower struct {
	toolscache.ResourceEventHandlerRegistration
	handler toolscache.ResourceEventHandler
	mu      sync.Mutex // Held while the handler is called.
	ended   atomic.Bool
}

// AddEventHandler implements SharedInformer.
func (s *followers) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	f := &follower{handler: handler}
	f.mu.Lock() // Changes wait until the handler has been called with the existing objects.
	defer f.mu.Unlock()
	there, err := s.insert(f)
	if err != nil {
		return nil, err
	}
	for _, obj := range there {
		handler.OnAdd(obj, true)
	}
	return f, nil
}

// AddEventHandlerWithResyncPeriod implements SharedInformer. The period is the informer's.
func (s *followers) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements SharedInformer, without the options.
func (s *followers) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

func (s *followers) insert(f *follower) (there []any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there, f.ResourceEventHandlerRegistration, err = s.begin(); err != nil {
		return nil, err
	}
	s.all = append(slices.Clip(s.all), f)
	return there, nil
}

// handlerBy returns a handler that calls others through each.
func handlerBy(each func(do func(toolscache.ResourceEventHandler))) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initially bool) {
			each(func(h toolscache.ResourceEventHandler) { h.OnAdd(obj, initially) })
		},
		UpdateFunc: func(before, after any) {
			each(func(h toolscache.ResourceEventHandler) { h.OnUpdate(before, after) })
		},
		DeleteFunc: func(obj any) { each(func(h toolscache.ResourceEventHandler) { h.OnDelete(obj) }) },
	}
}

// each calls all followers.
func (s *followers) each(do func(toolscache.ResourceEventHandler)) {
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	for _, f := range all {
		f.call(do)
	}
}

// show calls the handler with all objects of a store.
func (f *follower) show(with toolscache.Store) {
	f.mu.Lock() // Changes wait meanwhile.
	defer f.mu.Unlock()
	for _, obj := range with.List() {
		if !f.ended.Load() {
			f.handler.OnAdd(obj, true)
		}
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
func (s *followers) RemoveEventHandler(registration toolscache.ResourceEventHandlerRegistration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(s.all), func(f *follower) bool { return registration == f })
	if len(kept) == len(s.all) {
		return nil // Removed before.
	}
	if f, ok := registration.(*follower); ok {
		f.ended.Store(true)
	}
	s.all = kept
	return nil
}
