// Package budget counts and limits what the caches hold of one provider. It also limits what each namespace of
// the consumer may send there.
package budget

import (
	"cmp"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// Budget limits the caches of one provider. Zero values take the defaults of the API.
type Budget struct {
	// Memory is in bytes.
	Memory int64
	// Objects is a count.
	Objects int32
}

// Defaulted returns the budget with the API's defaults instead of zero values.
func (b Budget) Defaulted() Budget {
	return Budget{cmp.Or(b.Memory, v1alpha1.DefaultBudgetMemory), cmp.Or(b.Objects, v1alpha1.DefaultBudgetObjects)}
}

// ListBytes returns how many bytes an encoded list may have. Decoding it needs two to three times as much
// memory in addition.
func (b Budget) ListBytes() int64 { return b.Memory / 4 }

// Ledger counts what the caches of a session hold, in total and per namespace of the consumer. It ends the
// session when that exceeds the budget. Each object is counted before a cache stores it. A watch that begins
// with all objects keeps them apart until it has all, so no list or store would show what has come so far. If
// the watch breaks off, objects that are deleted before the next attempt stay counted until the session ends.
// Sent objects are counted until the watch has passed them.
type Ledger struct {
	budget Budget
	end    func(error)

	mu    sync.Mutex
	kinds map[reflect.Type]*holding
	all   amount
	// namespaces counts per namespace of the consumer that the objects name as their origin.
	namespaces map[string]amount
}

// holding is what the caches hold of one kind.
type holding struct {
	objects map[client.ObjectKey]entry
	memory  int64
	// namespaces counts the objects per namespace of the consumer.
	namespaces map[string]int
	// sent has the objects that the cache has not shown yet. seen returns the latest version that the cache has
	// read. It is nil if that is unknown.
	sent map[client.ObjectKey]struct{}
	seen func() string
}

// entry is one object, as it was counted.
type entry struct {
	amount
	namespace, version string
}

// NewLedger returns the ledger of a session. It calls end, perhaps more than once, when the caches hold more
// than the budget.
func NewLedger(budget Budget, end func(error)) *Ledger {
	return &Ledger{budget: budget.Defaulted(), end: end, kinds: map[reflect.Type]*holding{}, namespaces: map[string]amount{}}
}

// note counts an object that a cache shows, instead of the previous one of that name.
func (l *Ledger) note(object client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.holding(object).sent, client.ObjectKeyFromObject(object))
	l.count(object)
}

// holding returns what the caches hold of the object's kind. The lock must be held.
func (l *Ledger) holding(object client.Object) *holding {
	kind, ok := l.kinds[reflect.TypeOf(object)]
	if !ok {
		kind = &holding{objects: map[client.ObjectKey]entry{}, namespaces: map[string]int{}, sent: map[client.ObjectKey]struct{}{}}
		l.kinds[reflect.TypeOf(object)] = kind
	}
	return kind
}

// count counts an object instead of the previous one of that name. The lock must be held.
func (l *Ledger) count(object client.Object) {
	now := entry{amountOf(object), provenance.LocalOf(object).Namespace, object.GetResourceVersion()}
	kind, key := l.holding(object), client.ObjectKeyFromObject(object)
	if before, known := kind.objects[key]; known {
		l.subtract(kind, before)
	}
	kind.objects[key] = now
	kind.memory += now.memory
	kind.namespaces[now.namespace]++
	l.all = l.all.plus(now.amount)
	l.namespaces[now.namespace] = l.namespaces[now.namespace].plus(now.amount)
	if l.isOver() {
		l.settle()
	}
	if l.isOver() {
		l.end(l.excess())
	}
}

func (l *Ledger) isOver() bool {
	return l.all.memory > l.budget.Memory || l.all.objects > int64(l.budget.Objects)
}

func (l *Ledger) subtract(kind *holding, was entry) {
	kind.memory -= was.memory
	if kind.namespaces[was.namespace]--; kind.namespaces[was.namespace] == 0 {
		delete(kind.namespaces, was.namespace)
	}
	l.all = l.all.minus(was.amount)
	if left := l.namespaces[was.namespace].minus(was.amount); left.objects > 0 {
		l.namespaces[was.namespace] = left
	} else {
		delete(l.namespaces, was.namespace)
	}
}

// Exceeds says why sending an object would exceed the budget, if it replaces before, which may be nil. It
// returns "" if it would not.
func (l *Ledger) Exceeds(before, after client.Object) string {
	more := amountOf(trimmed(after))
	if before != nil {
		more = more.minus(amountOf(trimmed(before)))
	}
	namespace := provenance.LocalOf(after).Namespace
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	return shareOf(l.budget).exceeded(namespace, l.namespaces[namespace], l.all, more)
}

// Count returns how many objects of the given object's kind the provider has for a namespace of the consumer.
func (l *Ledger) Count(object client.Object, namespace string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	return l.holding(object).namespaces[namespace]
}

// Usage returns what is counted, and the limits. It leaves the name of the provider empty.
func (l *Ledger) Usage() connection.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return connection.Usage{Memory: l.all.memory, MaxMemory: l.budget.Memory, Objects: l.all.objects, MaxObjects: int64(l.budget.Objects)}
}

// drop stops counting an object.
func (l *Ledger) drop(object client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kind, ok := l.kinds[reflect.TypeOf(object)]
	if !ok {
		return
	}
	key := client.ObjectKeyFromObject(object)
	if was, known := kind.objects[key]; known {
		delete(kind.objects, key)
		delete(kind.sent, key)
		l.subtract(kind, was)
	}
}

// excess returns an error that names the exceeded limit and the kind that uses most of it. The limit is the
// only number in the text, so the text is the same each time.
func (l *Ledger) excess() error {
	var most reflect.Type
	tooMany := l.all.objects > int64(l.budget.Objects)
	share := func(t reflect.Type) int64 {
		if tooMany {
			return int64(len(l.kinds[t].objects))
		}
		return l.kinds[t].memory
	}
	for kind := range l.kinds {
		if most == nil || share(kind) > share(most) {
			most = kind
		}
	}
	limit := fmt.Sprintf("take more than %d MiB of memory", l.budget.Memory>>20)
	field := "memory"
	if tooMany {
		limit, field = fmt.Sprintf("are more than %d objects", l.budget.Objects), "objects"
	}
	return &transport.ExcessError{Reason: v1alpha1.ReasonTooLarge, Message: fmt.Sprintf(
		"Spillway's objects and the nodes in the provider %s, mostly of kind %s: delete unneeded objects, or raise spec.budget.%s",
		limit, most.Elem().Name(), field)}
}

// Counted returns a transformation for a cache that also counts the result of the given one.
func (l *Ledger) Counted(transform cache.TransformFunc) cache.TransformFunc {
	return func(in any) (any, error) {
		out, err := transform(in)
		if object, ok := out.(client.Object); ok && err == nil {
			l.note(object)
		}
		return out, err
	}
}

// Handler returns the handler of an informer, which counts added objects and drops deleted ones. A deleted
// object also passes through the transformation, and may be recreated before the handlers are called.
func (l *Ledger) Handler() cache.ResourceEventHandler {
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
