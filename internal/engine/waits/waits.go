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
	// enqueue enqueues objects to reconcile. needing lists all objects that need the given one.
	enqueue func(keys ...decide.Key)
	needing func(ctx context.Context, what decide.Key) ([]decide.Key, error)

	mu sync.Mutex
	// looking has the looks that have not ended. waiting has, by object, who found it unready.
	looking sets.Set[*look]
	waiting map[decide.Key]sets.Set[decide.Key]
	// untold has objects that have, or may have, changed since the objects that need them were last enqueued.
	untold sets.Set[decide.Key]
	// verdicts has the problems of objects that have one.
	verdicts map[decide.Key]field.Problem
}

type look struct{ who, at decide.Key }

// New returns Waits that enqueue with enqueue. needing lists all objects that need the given one.
func New(enqueue func(keys ...decide.Key), needing func(ctx context.Context, what decide.Key) ([]decide.Key, error)) *Waits {
	return &Waits{
		enqueue: enqueue, needing: needing, looking: sets.Set[*look]{}, waiting: map[decide.Key]sets.Set[decide.Key]{},
		untold: sets.Set[decide.Key]{}, verdicts: map[decide.Key]field.Problem{},
	}
}

// Ask returns what assess says about an object. If the object exists and is not ready, who waits from now on.
// If it does not exist, its creation enqueues what needs it.
func (w *Waits) Ask(who, what decide.Key, assess func() (need decide.Need, there bool, err error)) (decide.Need, error) {
	noted := &look{who, what}
	w.mu.Lock()
	w.looking.Insert(noted)
	w.mu.Unlock()
	need, there, err := assess()
	w.mu.Lock()
	defer w.mu.Unlock()
	isNoted := w.looking.Has(noted) // If not, the object was reconciled meanwhile, and who is enqueued.
	w.looking.Delete(noted)
	if isNoted && err == nil && there && !need.Ready {
		if w.waiting[what] == nil {
			w.waiting[what] = sets.Set[decide.Key]{}
		}
		w.waiting[what].Insert(who)
	}
	return need, err
}

// Wrote notes that an object is about to be written.
func (w *Waits) Wrote(what decide.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.untold.Insert(what)
}

// Ended enqueues whoever waits for an object that was reconciled. It enqueues all objects that need it if
// anything was written or the verdict has changed. A nil verdict means that the object is ready.
func (w *Waits) Ended(ctx context.Context, what decide.Key, verdict *field.Problem) error {
	if w.tells(what, verdict) {
		return w.Tell(ctx, what)
	}
	w.enqueue(w.take(what)...)
	return nil
}

// tells notes a verdict, and reports whether all objects that need this one must be enqueued.
func (w *Waits) tells(what decide.Key, verdict *field.Problem) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := ptr.Deref(verdict, field.Problem{})
	if w.verdicts[what] != now {
		w.untold.Insert(what)
	}
	if w.verdicts[what] = now; verdict == nil {
		delete(w.verdicts, what)
	}
	return w.untold.Has(what)
}

// Tell enqueues all objects that need this one or wait for it.
func (w *Waits) Tell(ctx context.Context, what decide.Key) error {
	all, err := w.needing(ctx, what)
	if err != nil {
		return err // The retry enqueues them.
	}
	w.mu.Lock()
	w.untold.Delete(what)
	w.mu.Unlock()
	w.enqueue(append(all, w.take(what)...)...)
	return nil
}

// take returns whoever waits for an object, or looks at it now, and ends their wait.
func (w *Waits) take(what decide.Key) []decide.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.waiting[what].Clone()
	for noted := range w.looking {
		if noted.at == what {
			all.Insert(noted.who)
			w.looking.Delete(noted)
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
