// Package memory remembers what a controller must know of its objects and the caches do not
// show. It ends with the connection and with the process, which costs one more try of each
// refused request.
package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// How many statuses of one object Spillway writes at once, and then how often: a provider
// may change them as often as it likes. A pod that starts and ends takes fewer.
const (
	fewStatuses    = 5
	statusInterval = time.Second
)

// copyInterval is the least time between two writes of a copy, of kinds that are paced.
const copyInterval = time.Second

// Memory has a Record of each object that it remembers something of, and a part for each thing
// that it paces. Its methods, and those of its parts, may be called by several goroutines at
// once.
type Memory struct {
	// Refusals are what API servers have refused to do.
	Refusals *Refusals
	// Overtaken counts conflicts of creations, and Failing server errors.
	Overtaken, Failing *retry.Streaks[types.NamespacedName]
	// Statuses paces the writes of statuses.
	Statuses *throttle.Allowance[types.NamespacedName]
	// Copies paces the writes of copies, of kinds that are paced.
	Copies *throttle.Allowance[types.NamespacedName]
	// Undone paces actions that are repeated because somebody undoes them.
	Undone *Undone
	// Sent are the objects that were sent a short while ago. It outlives the connection.
	Sent *Sent

	clock   clock.PassiveClock
	mu      sync.Mutex
	records map[types.NamespacedName]Record
}

// New returns a Memory of nothing.
func New(clock clock.WithTicker) *Memory {
	return &Memory{
		Refusals:  newRefusals(clock),
		Overtaken: retry.NewConflicts[types.NamespacedName](),
		Failing:   retry.NewServerErrors[types.NamespacedName](),
		Statuses:  throttle.NewAllowance[types.NamespacedName](fewStatuses, statusInterval, clock),
		Copies:    throttle.NewAllowance[types.NamespacedName](1, copyInterval, clock),
		Undone:    newUndone(clock),
		Sent:      NewSent(clock),
		clock:     clock,
		records:   map[types.NamespacedName]Record{},
	}
}

// Succeeded forgets the failures of an action that has succeeded now. in is the namespace of
// the provider that a copy is in.
func (m *Memory) Succeeded(key types.NamespacedName, verb decide.Verb, in string) {
	if verb == decide.Read {
		return // An object that can be read may still be refused.
	}
	m.Overtaken.Forget(key)
	if verb != decide.PatchStatus { // The status may say that another action fails.
		m.Failing.Forget(key)
	}
	m.Refusals.succeeded(key, verb, in)
}

// Forget forgets an object that is gone.
func (m *Memory) Forget(key types.NamespacedName) {
	m.Refusals.forget(key)
	m.Overtaken.Forget(key)
	m.Failing.Forget(key)
	m.Statuses.Forget(key)
	m.Copies.Forget(key)
	m.Undone.forget(key)
	m.Sent.forget(key)
	m.Change(key, func(r *Record) { *r = Record{} })
}
