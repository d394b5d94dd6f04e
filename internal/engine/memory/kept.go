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

// Reported remembers which events inform the owners of the objects of one kind. It outlives the connection: a
// provider that disconnects and comes back does not repeat an event.
type Reported struct {
	// Problems says why objects are not in the provider. Notices says what owners should know about copies that
	// are.
	Problems, Notices *Problems
	// Events limits the events: a provider may report another address of a load balancer every second.
	Events *throttle.Allowance[types.NamespacedName]
}

const (
	// fewEvents is how many events an object may cause at once. After that, it may cause one per eventInterval.
	fewEvents     = 10
	eventInterval = time.Minute
)

// NewReported returns an empty Reported.
func NewReported() *Reported {
	return &Reported{&Problems{}, &Problems{}, throttle.NewAllowance[types.NamespacedName](fewEvents, eventInterval, clock.RealClock{})}
}

// Forget forgets an object that no longer exists.
func (t *Reported) Forget(key types.NamespacedName) {
	t.Events.Forget(key)
	t.Problems.Clear(key)
	t.Notices.Clear(key)
}

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

// RepeatEvent is the time after which the event of a lasting problem is repeated. API servers keep events for
// an hour.
const RepeatEvent = 20 * time.Minute

// Problems has the last problem of each object that has one, and the time of its event.
type Problems struct{ last sync.Map }

type reportedProblem struct {
	field.Problem
	at time.Time
}

// Note notes the problem of an object, nil if it has none, and reports whether an event is due. It is due if
// the problem is new, or RepeatEvent has passed.
func (p *Problems) Note(key types.NamespacedName, problem *field.Problem, now time.Time) bool {
	if problem == nil {
		p.Clear(key)
		return false
	}
	if before, had := p.last.Load(key); had && before.(reportedProblem).Problem == *problem && !p.Due(key, now) {
		return false
	}
	p.last.Store(key, reportedProblem{*problem, now})
	return true
}

// Due reports whether an object has a problem whose event should be repeated.
func (p *Problems) Due(key types.NamespacedName, now time.Time) bool {
	before, had := p.last.Load(key)
	return had && now.Sub(before.(reportedProblem).at) >= RepeatEvent
}

// Clear forgets the problem of an object.
func (p *Problems) Clear(key types.NamespacedName) { p.last.Delete(key) }
