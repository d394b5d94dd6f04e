package memory

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Told is what the owners of the objects of one kind have been told of them, by events. It
// outlives the connection: a provider that comes and goes has nothing told again.
type Told struct {
	// Problems are why objects are not there, and Notices what their owners should know of
	// those that are.
	Problems, Notices *Problems
}

// NewTold returns a Told of nothing.
func NewTold() *Told { return &Told{Problems: newProblems(), Notices: newProblems()} }

// Forget drops what was told of an object that is gone.
func (t *Told) Forget(key types.NamespacedName) {
	t.Problems.Change(key, nil)
	t.Notices.Change(key, nil)
}

// Kept has what outlives connections, for each binding and kind. Its zero value is empty.
type Kept[V any] struct {
	mu     sync.Mutex
	values map[kindOf]V
}

// kindOf is a kind of a binding.
type kindOf struct {
	binding types.UID
	kind    string
}

// Of returns what is kept of a kind of a binding. It begins with what fresh returns.
func (k *Kept[V]) Of(binding types.UID, kind string, fresh func() V) V {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values == nil {
		k.values = map[kindOf]V{}
	}
	of := kindOf{binding, kind}
	if _, ok := k.values[of]; !ok {
		k.values[of] = fresh()
	}
	return k.values[of]
}

// Keep forgets all bindings but these.
func (k *Kept[V]) Keep(bindings sets.Set[types.UID]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.values, func(of kindOf, _ V) bool { return !bindings.Has(of.binding) })
}
