// Package memory is what a controller remembers of its objects beyond what the
// caches show. Losing it, with the connection or the process, costs one more try of
// what was refused.
package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/throttle"
)

// How many statuses of one object are written at once, and how often after them:
// a provider changes them as often as it likes. A pod that begins and ends takes
// fewer.
const (
	fewStatuses    = 5
	statusInterval = time.Second
)

// copyInterval is the least time between two writes of a copy, of kinds that are paced.
const copyInterval = time.Second

// Memory has a part for each thing that is remembered. Its methods, and those of its
// parts, may be called by several goroutines at once.
type Memory struct {
	// Refusals are what API servers have refused to do.
	Refusals *Refusals
	// Overtaken are the creations that meet conflicts, and Failing the requests that
	// meet server errors.
	Overtaken, Failing *retry.Streaks[types.NamespacedName]
	// Lost are the local objects whose remote one the provider has said not to have.
	Lost *Noted[types.UID]
	// Unanswered are the local objects whose creation in the provider may have been
	// carried out: there was no answer.
	Unanswered *Noted[types.UID]
	// Waiting are the problems that objects have.
	Waiting *Waiting
	// Unshown are changes of remote objects that the local ones do not show yet.
	Unshown *Unshown
	// Unkept are the last changes of statuses that the consumer has not kept.
	Unkept *Noted[decide.Attempt]
	// Statuses paces the writes of them.
	Statuses *throttle.Allowance[types.NamespacedName]
	// Copies paces the writes of copies, of kinds that are paced.
	Copies *throttle.Allowance[types.NamespacedName]
	// Undone paces what is done again and again because somebody undoes it.
	Undone *Undone
	// Sent are the objects that were sent a short while ago. It outlives the connection.
	Sent *Sent
}

// New returns a Memory of nothing.
func New(clock clock.WithTicker) *Memory {
	return &Memory{
		Refusals:   newRefusals(clock),
		Overtaken:  retry.NewConflicts[types.NamespacedName](),
		Failing:    retry.NewServerErrors[types.NamespacedName](),
		Lost:       newNoted[types.UID](),
		Unanswered: newNoted[types.UID](),
		Waiting:    &Waiting{clock: clock, since: newNoted[waiting]()},
		Unshown:    &Unshown{clock: clock, since: map[types.NamespacedName]time.Time{}},
		Unkept:     newNoted[decide.Attempt](),
		Statuses:   throttle.NewAllowance[types.NamespacedName](fewStatuses, statusInterval, clock),
		Copies:     throttle.NewAllowance[types.NamespacedName](1, copyInterval, clock),
		Undone:     newUndone(clock),
		Sent:       NewSent(clock),
	}
}

// Succeeded forgets what has not been done about an object so far, if it was this; in
// is the namespace of the provider that a copy is in.
func (m *Memory) Succeeded(key types.NamespacedName, verb decide.Verb, in string) {
	if verb == decide.Read {
		return // What can be read may still not be sent.
	}
	m.Overtaken.Forget(key)
	if verb != decide.PatchStatus { // A status says that something fails.
		m.Failing.Forget(key)
	}
	m.Refusals.succeeded(key, verb, in)
}

// Forget drops all that is remembered of an object that is gone.
func (m *Memory) Forget(key types.NamespacedName) {
	m.Refusals.forget(key)
	m.Overtaken.Forget(key)
	m.Failing.Forget(key)
	m.Lost.Drop(key)
	m.Unanswered.Drop(key)
	m.Waiting.since.Drop(key)
	m.Unshown.forget(key)
	m.Unkept.Drop(key)
	m.Statuses.Forget(key)
	m.Copies.Forget(key)
	m.Undone.forget(key)
	m.Sent.forget(key)
}
