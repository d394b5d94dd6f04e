package engine

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/internal/engine/decide"
)

// fenced has the objects that could not be reconciled because the Lease in the provider was not renewed in time. They are
// enqueued as soon as it is renewed: after a minute of failures, their back-off would have them wait half a minute more.
type fenced struct {
	// closed returns an error while nothing may be written in the provider.
	closed  func() error
	enqueue func(keys ...decide.Key)

	mu   sync.Mutex
	keys sets.Set[decide.Key]
}

// failed notes an object whose reconcile has failed, if nothing may be written now.
func (f *fenced) failed(key decide.Key) {
	if f.closed() == nil {
		return
	}
	f.mu.Lock()
	if f.keys == nil {
		f.keys = sets.Set[decide.Key]{}
	}
	f.keys.Insert(key)
	f.mu.Unlock()
	if f.closed() == nil { // It was renewed just now, and reopened may have been called before the note.
		f.reopened()
	}
}

// reopened enqueues these objects.
func (f *fenced) reopened() {
	f.mu.Lock()
	keys := f.keys
	f.keys = nil
	f.mu.Unlock()
	f.enqueue(keys.UnsortedList()...)
}
