package informer

import (
	"errors"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
)

// each calls the followers while the kind can be read. They get earlier objects from notifyAll.
func (k *demanded) each(do func(toolscache.ResourceEventHandler)) {
	if k.readable.Load() {
		k.followers.each(do)
	}
}

// notifyAll calls the followers with all objects that an informer has read. Followers that are added later get
// these from begin. If the informer is nil, the kind is not watched any more.
func (k *demanded) notifyAll(by toolscache.SharedIndexInformer) {
	k.mu.Lock()
	k.by = by
	all := k.all
	k.mu.Unlock()
	for _, f := range all {
		if by != nil {
			f.show(by.GetStore())
		}
	}
}

func (k *demanded) beginning() ([]any, toolscache.ResourceEventHandlerRegistration, error) {
	switch {
	case k.by == nil:
		return nil, k, nil
	case k.by.IsStopped():
		return nil, nil, errors.New("the informer has stopped")
	}
	return k.by.GetStore().List(), k, nil
}

// AddIndexers implements cache.Informer. It always fails: Demand.IndexField adds indexes.
func (k *demanded) AddIndexers(toolscache.Indexers) error {
	return fmt.Errorf("%T is watched on demand: index it by IndexField", k.object)
}

// opened returns how the kind is watched, or nil.
func (k *demanded) opened() *opened {
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	return k.open
}

// GetStore returns the store of a kind that is watched, or nil.
func (k *demanded) GetStore() toolscache.Store {
	if o := k.opened(); o != nil {
		return o.informer.GetStore()
	}
	return nil
}

// LastSyncResourceVersion returns the last resource version of a kind that is watched, or "".
func (k *demanded) LastSyncResourceVersion() string {
	if o := k.opened(); o != nil {
		return o.informer.LastSyncResourceVersion()
	}
	return ""
}

// HasSynced implements cache.Informer. A kind that is not watched has nothing to read.
func (k *demanded) HasSynced() bool { return toolscache.IsDone(k.HasSyncedChecker()) }

// HasSyncedChecker implements cache.Informer.
func (k *demanded) HasSyncedChecker() toolscache.DoneChecker {
	if o := k.opened(); o != nil {
		return checker{fmt.Sprintf("%T on demand", k.object), o.done}
	}
	done := make(chan struct{})
	close(done)
	return checker{fmt.Sprintf("%T, which nobody needs", k.object), done}
}

// IsStopped implements cache.Informer.
func (k *demanded) IsStopped() bool {
	o := k.opened()
	return o != nil && o.informer.IsStopped()
}

type checker struct {
	name string
	done chan struct{}
}

// Name implements DoneChecker.
func (c checker) Name() string { return c.name }

// Done implements DoneChecker.
func (c checker) Done() <-chan struct{} { return c.done }
