package attempts

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// PerBinding holds what outlives connections, for each binding and kind. Its zero value is empty.
type PerBinding[V any] struct {
	mu     sync.Mutex
	values map[kindOf]V
}

// kindOf is a kind of a binding.
type kindOf struct {
	binding types.UID
	kind    string
}

// Of returns the value of a binding's kind. At first, it is what fresh returns.
func (k *PerBinding[V]) Of(binding types.UID, kind string, fresh func() V) V {
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

// Retain forgets all other bindings.
func (k *PerBinding[V]) Retain(bindings sets.Set[types.UID]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.values, func(of kindOf, _ V) bool { return !bindings.Has(of.binding) })
}
