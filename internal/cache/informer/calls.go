package informer

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

var errStopped = errors.New("the informer has stopped")

// calls are the handlers of an informer, and the calls of them that are still to be made, in order.
type calls struct {
	name   string        // Of the objects' type.
	synced chan struct{} // Closed when the indexer has the first list.

	mu      sync.Mutex      // Never held while a handler is called.
	all     []*registration // Copied before it is changed.
	waiting []call
	making  bool // A goroutine makes the waiting calls.
	stopped bool
	running sync.WaitGroup
}

// call is a call of the handlers that there were when an object changed. Without an object, it says that they
// have seen the first list.
type call struct {
	to            []*registration
	before, after any
	initially     bool
}

// registration is a handler that was added.
type registration struct {
	handler toolscache.ResourceEventHandler
	name    string
	ended   atomic.Bool
	synced  chan struct{}
}

// add adds calls. The caller holds the lock.
func (c *calls) add(more ...call) {
	if c.stopped {
		return
	}
	c.waiting = append(c.waiting, more...)
	if !c.making && len(c.waiting) > 0 {
		c.making = true
		c.running.Go(c.make)
	}
}

// make makes the waiting calls.
func (c *calls) make() {
	for {
		next, ok := c.next()
		if !ok {
			return
		}
		next.make()
	}
}

func (c *calls) next() (call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.waiting, c.making = nil, false
		return call{}, false
	}
	next := c.waiting[0]
	c.waiting[0] = call{} // It must not keep the objects.
	c.waiting = c.waiting[1:]
	return next, true
}

// make calls the handlers. As in client-go, a panic of a handler ends the process.
func (c call) make() {
	defer utilruntime.HandleCrash()
	for _, r := range c.to {
		switch {
		case r.ended.Load():
		case c.before == nil && c.after == nil:
			close(r.synced)
		case c.before == nil:
			r.handler.OnAdd(c.after, c.initially)
		case c.after == nil:
			r.handler.OnDelete(c.before)
		default:
			r.handler.OnUpdate(c.before, c.after)
		}
	}
}

// stop drops the waiting calls, and returns when no handler is running.
func (c *calls) stop() {
	c.mu.Lock()
	c.stopped, c.waiting = true, nil
	c.mu.Unlock()
	c.running.Wait()
}

// IsStopped implements SharedInformer.
func (c *calls) IsStopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped
}

// HasSynced implements SharedInformer.
func (c *calls) HasSynced() bool { return toolscache.IsDone(c.HasSyncedChecker()) }

// HasSyncedChecker implements SharedInformer.
func (c *calls) HasSyncedChecker() toolscache.DoneChecker { return checker{c.name, c.synced} }

// RemoveEventHandler implements SharedInformer. At most one call of the handler still begins or runs after it.
func (c *calls) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("a %T is no handler of this informer", handle)
	}
	r.ended.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(slices.Clone(c.all), func(one *registration) bool { return one == r })
	return nil
}

// HasSynced implements ResourceEventHandlerRegistration: the handler has been called with the first list.
func (r *registration) HasSynced() bool { return toolscache.IsDone(r.HasSyncedChecker()) }

// HasSyncedChecker implements ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker {
	return checker{"a handler of " + r.name, r.synced}
}
