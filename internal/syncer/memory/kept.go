package memory

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// Told remembers which events tell the owners of the objects of one kind. It outlives the
// connection: a provider that comes and goes causes no event again.
type Told struct {
	// Problems are why objects are not in the provider, and Notices what their owners should
	// know of copies that are.
	Problems, Notices *Problems
	// Events bounds them: a provider may report another address of a load balancer every second.
	Events *throttle.Allowance[types.NamespacedName]
}

const (
	// fewEvents are the events that an object may cause at once, and then one each eventInterval.
	fewEvents     = 10
	eventInterval = time.Minute
)

// NewTold returns a Told of nothing.
func NewTold() *Told {
	return &Told{&Problems{}, &Problems{}, throttle.NewAllowance[types.NamespacedName](fewEvents, eventInterval, clock.RealClock{})}
}

// Forget forgets an object that is gone.
func (t *Told) Forget(key types.NamespacedName) {
	t.Events.Forget(key)
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

// Problems are the last problem of each object that has one.
type Problems struct{ last sync.Map }

// Change notes the problem of an object, nil if it has none, and reports whether it is another
// one than before.
func (p *Problems) Change(key types.NamespacedName, problem *decide.Problem) bool {
	if problem == nil {
		_, had := p.last.LoadAndDelete(key)
		return had
	}
	before, had := p.last.Swap(key, *problem)
	return !had || before != *problem
}
