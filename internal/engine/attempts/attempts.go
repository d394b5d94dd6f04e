// Package attempts remembers what was tried for the objects of one kind, what the API servers answered, when to
// try again, and what users were told. The caches show none of that.
//
// A Record and its parts are values with pure methods, so a plan can be computed from a copy. Attempts has the
// records, and ends with the connection and with the process. That costs one more attempt at each refused
// request. What outlives a connection is in Sent and Reported.
package attempts

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// Attempts has the records of the objects of one kind in one connection. Several goroutines may call its
// methods at once.
type Attempts struct {
	// Sent has the objects that were sent recently. It outlives the connection.
	Sent *Sent
	// HeldUp has the namespaces of the provider in which writes are held up.
	HeldUp HeldUp

	clock   clock.PassiveClock
	mu      sync.Mutex
	records map[types.NamespacedName]*Record
	refused int // The number of records with a refusal.
}

// New returns Attempts without a record.
func New(clock clock.PassiveClock) *Attempts {
	return &Attempts{Sent: NewSent(clock), clock: clock, records: map[types.NamespacedName]*Record{}}
}

// Get returns the record of an object.
func (a *Attempts) Get(key types.NamespacedName) Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	if record, ok := a.records[key]; ok {
		return *record
	}
	return Record{}
}

// Change calls change with the record of an object, under the lock.
func (a *Attempts) Change(key types.NamespacedName, change func(*Record)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(key, change)
}

func (a *Attempts) change(key types.NamespacedName, change func(*Record)) {
	record, ok := a.records[key]
	if !ok {
		record = &Record{}
	} else if record.Refusals.Any() {
		a.refused--
	}
	change(record)
	if record.Refusals.Any() {
		a.refused++
	}
	if record.isEmpty() {
		delete(a.records, key)
	} else {
		a.records[key] = record
	}
}

// AnyRefused reports whether a request for any object is refused.
func (a *Attempts) AnyRefused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused > 0
}

// Refuse remembers a refused request, and reports whether the refusal is new.
func (a *Attempts) Refuse(key types.NamespacedName, version string, what decide.Refused) (isNew bool) {
	a.Change(key, func(r *Record) { isNew = r.Refusals.Add(version, what, a.clock.Now()) })
	return isNew
}

// Succeeded remembers that an action was carried out. in is the provider's namespace of a copy.
func (a *Attempts) Succeeded(key types.NamespacedName, verb decide.Verb, in string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.records[key]; ok && verb != decide.Read { // An object that can be read may still be refused.
		a.change(key, func(r *Record) { r.succeeded(verb, in) })
	}
}

// Reconciled is the outcome of a reconcile that leaves nothing to do now.
type Reconciled struct {
	// Version is the version of the local object; empty if the consumer does not have it.
	Version string
	// Problem is the object's problem; nil if it has none.
	Problem *field.Problem
	// Observed is when the object was read. The local object shows all changes of the remote one until then,
	// unless IsPending.
	Observed  time.Time
	IsPending bool
	// Withdrawn reports that the consumer withdraws the copies, perhaps with their namespaces, which takes no
	// request per copy.
	Withdrawn bool
}

// Reconciled remembers the outcome of a reconcile.
func (a *Attempts) Reconciled(key types.NamespacedName, outcome Reconciled) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.records[key]; ok || outcome.Problem != nil {
		a.change(key, func(r *Record) { r.reconciled(outcome, a.clock.Now()) })
	}
}

// RemoteChanged notes that a change of the remote object arrived just now.
func (a *Attempts) RemoteChanged(key types.NamespacedName) {
	a.Change(key, func(r *Record) {
		if r.RemoteChangedAt.IsZero() {
			r.RemoteChangedAt = a.clock.Now()
		}
	})
}

// Forget forgets an object that no longer exists.
func (a *Attempts) Forget(key types.NamespacedName) {
	a.Sent.forget(key)
	a.Change(key, func(r *Record) { *r = Record{} })
}
