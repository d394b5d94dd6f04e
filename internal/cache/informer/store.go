package informer

import (
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
)

// store is what the Reflector of a lean informer writes to. The indexer changes first, and then handlers are
// called. All of it is under the lock, because resyncs and new handlers come beside the watch.
type store struct {
	calls
	indexer   toolscache.Indexer
	transform toolscache.TransformFunc // It does not change after the start.
}

// Transformer implements TransformingStore. A watch that begins with all objects transforms them before
// Replace does so again.
func (s *store) Transformer() toolscache.TransformFunc { return s.transform }

func (s *store) transformed(obj any) (any, error) {
	if s.transform == nil {
		return obj, nil
	}
	return s.transform(obj)
}

// Add implements ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements ReflectorStore.
func (s *store) Update(obj any) error {
	obj, err := s.transformed(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, _, err := s.indexer.Get(obj)
	if err != nil {
		return err
	}
	if err := s.indexer.Update(obj); err != nil {
		return err
	}
	s.add(call{to: s.all, before: before, after: obj})
	return nil
}

// Delete implements ReflectorStore.
func (s *store) Delete(obj any) error {
	obj, err := s.transformed(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.indexer.Delete(obj); err != nil {
		return err
	}
	s.add(call{to: s.all, before: obj})
	return nil
}

// Replace implements ReflectorStore. No watch has seen what the list lacks being deleted.
func (s *store) Replace(list []any, version string) error {
	keys, listed := make([]string, len(list)), make(map[string]bool, len(list))
	for i, obj := range list {
		obj, err := s.transformed(obj)
		if err != nil {
			return err
		}
		key, err := toolscache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return fmt.Errorf("the key of a listed object: %w", err)
		}
		list[i], keys[i], listed[key] = obj, key, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := make([]call, 0, len(list))
	for _, key := range s.indexer.ListKeys() {
		if !listed[key] {
			last, _, _ := s.indexer.GetByKey(key)
			changes = append(changes, call{to: s.all, before: toolscache.DeletedFinalStateUnknown{Key: key, Obj: last}})
		}
	}
	first := !s.HasSynced()
	for i, obj := range list {
		before, _, _ := s.indexer.GetByKey(keys[i])
		changes = append(changes, call{to: s.all, before: before, after: obj, initially: first})
	}
	if err := s.indexer.Replace(list, version); err != nil {
		return err
	}
	if first {
		changes = append(changes, call{to: s.all}) // They have synced.
		close(s.synced)
	}
	s.add(changes...)
	return nil
}

// Bookmark implements ReflectorBookmarkStore.
func (s *store) Bookmark(version string) error {
	s.indexer.Bookmark(version)
	return nil
}

// Resync implements ReflectorStore.
func (s *store) Resync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, obj := range s.indexer.List() {
		s.add(call{to: s.all, before: obj, after: obj})
	}
	return nil
}

// AddEventHandler implements SharedInformer.
func (s *store) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, errStopped
	}
	r := &registration{handler: handler, name: s.name, synced: make(chan struct{})}
	to := []*registration{r}
	for _, obj := range s.indexer.List() {
		s.add(call{to: to, after: obj, initially: true})
	}
	if s.HasSynced() {
		s.add(call{to: to})
	}
	s.all = append(s.all[:len(s.all):len(s.all)], r)
	return r, nil
}

// AddEventHandlerWithResyncPeriod implements SharedInformer. The period is the informer's.
func (s *store) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, _ time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

// AddEventHandlerWithOptions implements SharedInformer, without the options.
func (s *store) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}
