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

// Forget drops what was told of an object that is gone.
func (t *Told) Forget(key types.NamespacedName) {
	t.Problems.Change(key, nil)
	t.Notices.Change(key, nil)
}

// AllTold has a Told for each binding, by its UID, and kind. Its zero value is empty.
type AllTold struct {
	mu    sync.Mutex
	kinds map[types.UID]map[string]*Told
}

// Of returns the Told of a kind.
func (a *AllTold) Of(binding types.UID, kind string) *Told {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kinds == nil {
		a.kinds = map[types.UID]map[string]*Told{}
	}
	if a.kinds[binding] == nil {
		a.kinds[binding] = map[string]*Told{}
	}
	if a.kinds[binding][kind] == nil {
		a.kinds[binding][kind] = &Told{Problems: newProblems(), Notices: newProblems()}
	}
	return a.kinds[binding][kind]
}

// Keep forgets all bindings but these.
func (a *AllTold) Keep(bindings sets.Set[types.UID]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.kinds, func(binding types.UID, _ map[string]*Told) bool { return !bindings.Has(binding) })
}
