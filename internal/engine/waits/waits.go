package waits

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// Waits knows who waits for which object in one connection.
type Waits struct {
	// enqueue enqueues objects to reconcile. dependants lists all objects that need the given one.
	enqueue    func(keys ...decide.Key)
	dependants func(ctx context.Context, what decide.Key) ([]decide.Key, error)

	mu sync.Mutex
	// lookups has the lookups that have not ended. waiting has, by object, who found it unready.
	lookups sets.Set[*lookup]
	waiting map[decide.Key]sets.Set[decide.Key]
	// dirty has objects that have, or may have, changed since the objects that need them were last enqueued.
	dirty sets.Set[decide.Key]
	// problems has the problems of objects that have one.
	problems map[decide.Key]field.Problem
}

type lookup struct{ who, at decide.Key }

// New returns Waits that enqueue objects with the function enqueue. needing lists all objects that need the given
// one.
func New(enqueue func(keys ...decide.Key), needing func(ctx context.Context, what decide.Key) ([]decide.Key, error)) *Waits {
	return &Waits{
		enqueue: enqueue, dependants: needing, lookups: sets.Set[*lookup]{}, waiting: map[decide.Key]sets.Set[decide.Key]{},
		dirty: sets.Set[decide.Key]{}, problems: map[decide.Key]field.Problem{},
	}
}

// Ask returns what assess says about an object. If the object exists and is not ready, who waits from now on.
// If it does not exist, its creation enqueues what needs it.
func (w *Waits) Ask(who, what decide.Key, assess func() (need decide.Need, there bool, err error)) (decide.Need, error) {
	noted := &lookup{who, what}
	w.mu.Lock()
	w.lookups.Insert(noted)
	w.mu.Unlock()
	need, there, err := assess()
	w.mu.Lock()
	defer w.mu.Unlock()
	isNoted := w.lookups.Has(noted) // If not, the object was reconciled meanwhile, and who is enqueued.
	w.lookups.Delete(noted)
	if isNoted && err == nil && there && !need.Ready {
		if w.waiting[what] == nil {
			w.waiting[what] = sets.Set[decide.Key]{}
		}
		w.waiting[what].Insert(who)
	}
	return need, err
}

// NoteWrite notes that an object is about to be written.
func (w *Waits) NoteWrite(what decide.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirty.Insert(what)
}

// Reconciled enqueues whoever waits for an object that was reconciled. It enqueues all objects that need it if
// anything was written or the problem has changed. A nil verdict means that the object is ready.
func (w *Waits) Reconciled(ctx context.Context, what decide.Key, verdict *field.Problem) error {
	if w.noteProblem(what, verdict) {
		return w.EnqueueDependants(ctx, what)
	}
	w.enqueue(w.take(what)...)
	return nil
}

// noteProblem notes the problem of an object, and reports whether all objects that need this one must be enqueued.
func (w *Waits) noteProblem(what decide.Key, verdict *field.Problem) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := ptr.Deref(verdict, field.Problem{})
	if w.problems[what] != now {
		w.dirty.Insert(what)
	}
	if w.problems[what] = now; verdict == nil {
		delete(w.problems, what)
	}
	return w.dirty.Has(what)
}

// EnqueueDependants enqueues all objects that need this one or wait for it.
func (w *Waits) EnqueueDependants(ctx context.Context, what decide.Key) error {
	all, err := w.dependants(ctx, what)
	if err != nil {
		return err // The retry enqueues them.
	}
	w.mu.Lock()
	w.dirty.Delete(what)
	w.mu.Unlock()
	w.enqueue(append(all, w.take(what)...)...)
	return nil
}

// take returns whoever waits for an object, or looks at it now, and ends their wait.
func (w *Waits) take(what decide.Key) []decide.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.waiting[what].Clone()
	for noted := range w.lookups {
		if noted.at == what {
			all.Insert(noted.who)
			w.lookups.Delete(noted)
		}
	}
	delete(w.waiting, what)
	return all.UnsortedList()
}

// Forget ends all waits of an object that is gone.
func (w *Waits) Forget(who decide.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, all := range w.waiting {
		if all.Delete(who); len(all) == 0 {
			delete(w.waiting, what)
		}
	}
}
