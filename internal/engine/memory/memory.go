// Package memory remembers what a controller must know about its objects and the caches do not show. The memory
// ends with the connection and with the process. That costs one more attempt at each refused request.
package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// How many statuses of one object Spillway writes at once, and how often it writes one after that. A provider
// may change a status as often as it likes. A pod that starts and ends needs fewer writes.
const (
	fewStatuses    = 5
	statusInterval = time.Second
)

// copyInterval is the least time between two writes of a copy, for kinds that are paced.
const copyInterval = time.Second

// Memory has a Record of each object that it knows something about, and a part for each thing that it paces.
// Several goroutines may call its methods, and those of its parts, at once.
type Memory struct {
	// Refusals has the requests that API servers have refused.
	Refusals *Refusals
	// Conflicts counts conflicts of creations. ServerErrors counts server errors.
	Conflicts, ServerErrors *retry.Streaks[types.NamespacedName]
	// Statuses paces the writes of statuses.
	Statuses *throttle.Allowance[types.NamespacedName]
	// Copies paces the writes of copies, for kinds that are paced.
	Copies *throttle.Allowance[types.NamespacedName]
	// Reverted paces actions that are repeated because somebody reverts them.
	Reverted *Reverted
	// Sent has the objects that were sent recently. It outlives the connection.
	Sent *Sent

	clock   clock.PassiveClock
	mu      sync.Mutex
	records map[types.NamespacedName]Record
}

// New returns an empty Memory.
func New(clock clock.WithTicker) *Memory {
	return &Memory{
		Refusals:     newRefusals(clock),
		Conflicts:    retry.NewConflicts[types.NamespacedName](),
		ServerErrors: retry.NewServerErrors[types.NamespacedName](),
		Statuses:     throttle.NewAllowance[types.NamespacedName](fewStatuses, statusInterval, clock),
		Copies:       throttle.NewAllowance[types.NamespacedName](1, copyInterval, clock),
		Reverted:     newReverted(clock),
		Sent:         NewSent(clock),
		clock:        clock,
		records:      map[types.NamespacedName]Record{},
	}
}

// Succeeded forgets the failures of an action that has now succeeded. in is the provider's namespace of a copy.
func (m *Memory) Succeeded(key types.NamespacedName, verb decide.Verb, in string) {
	if verb == decide.Read {
		return // An object that can be read may still be refused.
	}
	m.Conflicts.Forget(key)
	if verb != decide.PatchStatus { // The status may say that another action fails.
		m.ServerErrors.Forget(key)
	}
	m.Refusals.succeeded(key, verb, in)
}

// Forget forgets an object that no longer exists.
func (m *Memory) Forget(key types.NamespacedName) {
	m.Refusals.forget(key)
	m.Conflicts.Forget(key)
	m.ServerErrors.Forget(key)
	m.Statuses.Forget(key)
	m.Copies.Forget(key)
	m.Reverted.forget(key)
	m.Sent.forget(key)
	m.Change(key, func(r *Record) { *r = Record{} })
}
