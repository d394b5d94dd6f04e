package memory

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/field"
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
	t.Problems.Clear(key)
	t.Notices.Clear(key)
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

// RepeatEvent is after how long the event of a problem that lasts is made again: API servers keep
// events for an hour.
const RepeatEvent = 20 * time.Minute

// Problems are the last problem of each object that has one, and when its event was made.
type Problems struct{ last sync.Map }

type toldProblem struct {
	field.Problem
	at time.Time
}

// Tell notes the problem of an object, nil if it has none, and reports whether an event is due:
// it is another problem than before, or RepeatEvent has passed.
func (p *Problems) Tell(key types.NamespacedName, problem *field.Problem, now time.Time) bool {
	if problem == nil {
		p.Clear(key)
		return false
	}
	if before, had := p.last.Load(key); had && before.(toldProblem).Problem == *problem && !p.Due(key, now) {
		return false
	}
	p.last.Store(key, toldProblem{*problem, now})
	return true
}

// Due reports whether an object has a problem of which the event is to be made again.
func (p *Problems) Due(key types.NamespacedName, now time.Time) bool {
	before, had := p.last.Load(key)
	return had && now.Sub(before.(toldProblem).at) >= RepeatEvent
}

// Clear forgets the problem of an object.
func (p *Problems) Clear(key types.NamespacedName) { p.last.Delete(key) }
