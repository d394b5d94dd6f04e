package fleet

import (
	"fmt"
	"reflect"
	"sync"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/seeded"
)

// Budget is what the caches of one provider may hold. Zero values take the
// defaults of the API.
type Budget struct {
	// Memory is in bytes.
	Memory int64
	// Objects is a number.
	Objects int32
}

func (b *Budget) defaults() {
	setDefault(&b.Memory, v1alpha1.DefaultBudgetMemory)
	setDefault(&b.Objects, v1alpha1.DefaultBudgetObjects)
}

// listShare is how much of the memory the answer to a list may take as it is
// sent. While it is decoded there is that, and twice to three times as much.
const listShare = 4

// ledger knows how much the caches of a session hold, and ends it when that is
// too much. Whatever is about to be stored passes through note, which is before
// anybody else has it: a watch that begins with all there is is kept apart until
// its end is reached, and no list or store would show what has come so far.
// What has been counted of one that breaks off, and is not there any more when it
// is tried again, stays counted until the session ends.
type ledger struct {
	budget Budget
	end    func(error)

	mu      sync.Mutex
	kinds   map[reflect.Type]*holding
	memory  int64
	objects int32
}

// holding is what there is of one kind.
type holding struct {
	sizes  map[client.ObjectKey]int64
	memory int64
}

func newLedger(budget Budget, end func(error)) *ledger {
	budget.defaults()
	return &ledger{budget: budget, end: end, kinds: map[reflect.Type]*holding{}}
}

// note counts an object in place of what was there under its name.
func (l *ledger) note(object client.Object) {
	if seeded.On(seeded.BudgetUnbounded) {
		return
	}
	size := sizeOf(object)
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, ok := l.kinds[reflect.TypeOf(object)]
	if !ok {
		kind = &holding{sizes: map[client.ObjectKey]int64{}}
		l.kinds[reflect.TypeOf(object)] = kind
	}
	key := client.ObjectKeyFromObject(object)
	before, known := kind.sizes[key]
	if !known {
		l.objects++
	}
	kind.sizes[key] = size
	kind.memory += size - before
	l.memory += size - before
	if l.memory > l.budget.Memory || l.objects > l.budget.Objects {
		l.end(l.excess())
	}
}

// drop counts an object no more.
func (l *ledger) drop(object client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, ok := l.kinds[reflect.TypeOf(object)]
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(object)
	if size, known := kind.sizes[key]; known {
		delete(kind.sizes, key)
		kind.memory -= size
		l.memory -= size
		l.objects--
	}
}

// excess names the limit and the kind of which there is most. It has no numbers
// but the limit, so that it is the same each time.
func (l *ledger) excess() error {
	var most reflect.Type
	amount := func(t reflect.Type) int64 {
		if l.objects > l.budget.Objects {
			return int64(len(l.kinds[t].sizes))
		}
		return l.kinds[t].memory
	}
	for kind := range l.kinds {
		if most == nil || amount(kind) > amount(most) {
			most = kind
		}
	}
	limit := fmt.Sprintf("more than %d MiB of memory", l.budget.Memory>>20)
	field := "memory"
	if l.objects > l.budget.Objects {
		limit, field = fmt.Sprintf("more than %d objects", l.budget.Objects), "objects"
	}
	return &transport.ExcessError{Reason: v1alpha1.ReasonTooLarge, Message: fmt.Sprintf(
		"what carries our mark in the provider, and its nodes, is %s, most of it of the kind %s: see what is there, or raise spec.budget.%s",
		limit, most.Elem().Name(), field)}
}

// counted is a transformation that notes what it has made.
func (l *ledger) counted(transform cache.TransformFunc) cache.TransformFunc {
	return func(in any) (any, error) {
		out, err := transform(in)
		if object, ok := out.(client.Object); ok && err == nil {
			l.note(object)
		}
		return out, err
	}
}

// handler follows what the caches hold. What was deleted passes through the
// transformation as well, and may be made again before anybody was told.
func (l *ledger) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) {
			if object, ok := added.(client.Object); ok {
				l.note(object)
			}
		},
		DeleteFunc: func(deleted any) {
			if unknown, ok := deleted.(cache.DeletedFinalStateUnknown); ok {
				deleted = unknown.Obj
			}
			if object, ok := deleted.(client.Object); ok {
				l.drop(object)
			}
		},
	}
}
