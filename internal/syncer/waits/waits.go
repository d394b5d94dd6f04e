package waits

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// Waits are those of one connection.
type Waits struct {
	// enqueue takes what is to be reconciled, and needing is all that needs an object.
	enqueue func(keys ...decide.Key)
	needing func(ctx context.Context, what decide.Key) ([]decide.Key, error)

	mu sync.Mutex
	// looking are the looks that have not ended; and waiting, by object, who has found it unready.
	looking sets.Set[*look]
	waiting map[decide.Key]sets.Set[decide.Key]
	// untold are objects that have changed, or may have, since what needs them was told.
	untold sets.Set[decide.Key]
	// verdicts are the problems of objects that have one.
	verdicts map[decide.Key]field.Problem
}

type look struct{ who, at decide.Key }

// New makes Waits that enqueue; needing are all objects that need one.
func New(enqueue func(keys ...decide.Key), needing func(ctx context.Context, what decide.Key) ([]decide.Key, error)) *Waits {
	return &Waits{
		enqueue: enqueue, needing: needing, looking: sets.Set[*look]{}, waiting: map[decide.Key]sets.Set[decide.Key]{},
		untold: sets.Set[decide.Key]{}, verdicts: map[decide.Key]field.Problem{},
	}
}

// Ask returns what assess finds of an object. If it is there and not ready, who waits from now
// on. What is not there enqueues what needs it when it comes.
func (w *Waits) Ask(who, what decide.Key, assess func() (need decide.Need, there bool, err error)) (decide.Need, error) {
	noted := &look{who, what}
	w.mu.Lock()
	w.looking.Insert(noted)
	w.mu.Unlock()
	need, there, err := assess()
	w.mu.Lock()
	defer w.mu.Unlock()
	isNoted := w.looking.Has(noted) // If not, the object has been reconciled meanwhile, and who is enqueued.
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

// Ended enqueues whoever waits for an object that has been reconciled; and all that need it, if
// anything was written, or if the verdict on it, nil if it is ready, is another one than before.
func (w *Waits) Ended(ctx context.Context, what decide.Key, verdict *field.Problem) error {
	if w.tells(what, verdict) {
		return w.Tell(ctx, what)
	}
	w.enqueue(w.take(what)...)
	return nil
}

// tells notes a verdict, and reports whether all that need the object have to be told.
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

// Tell enqueues all that need an object, or wait for it.
func (w *Waits) Tell(ctx context.Context, what decide.Key) error {
	all, err := w.needing(ctx, what)
	if err != nil {
		return err // It is told when this is tried again.
	}
	w.mu.Lock()
	w.untold.Delete(what)
	w.mu.Unlock()
	w.enqueue(append(all, w.take(what)...)...)
	return nil
}

// take returns whoever waits for an object, or looks at it now, and has them wait no more.
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

// Forget has an object that is gone wait for nothing.
func (w *Waits) Forget(who decide.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, all := range w.waiting {
		if all.Delete(who); len(all) == 0 {
			delete(w.waiting, what)
		}
	}
}
