package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// Record is what is remembered of one object. Its zero value is nothing, and takes no memory.
type Record struct {
	// Lost is the UID of the local object, if the provider said that it has no remote one for it.
	Lost types.UID
	// Unanswered is the UID of the local object whose creation in the provider got no
	// answer: it may have been carried out.
	Unanswered types.UID
	// Unkept is the last change of the status that the consumer has not kept.
	Unkept decide.Attempt
	// WaitingFor is the reason of the problem that the object has, and Since when it began.
	WaitingFor string
	Since      time.Time
	// Unshown is when the first change of the remote object came in that the local one does
	// not show yet.
	Unshown time.Time
}

// Get returns the record of an object.
func (m *Memory) Get(key types.NamespacedName) Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key]
}

// Change calls change with the record of an object, under the lock.
func (m *Memory) Change(key types.NamespacedName, change func(*Record)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	record := m.records[key]
	if change(&record); record == (Record{}) {
		delete(m.records, key)
	} else {
		m.records[key] = record
	}
}

// Waiting returns the reason of the problem of an object, and how long it has had it.
func (m *Memory) Waiting(key types.NamespacedName) (reason string, waited time.Duration) {
	record := m.Get(key)
	if record.WaitingFor == "" {
		return "", 0
	}
	return record.WaitingFor, m.clock.Since(record.Since)
}

// Reconciled notes the problem of an object, nil if it has none, after a reconcile. Another
// reason begins anew: a problem that passes soon is not reported because of one that lasted.
func (m *Memory) Reconciled(key types.NamespacedName, problem *field.Problem) {
	m.Change(key, func(r *Record) {
		if problem == nil {
			r.WaitingFor, r.Since = "", time.Time{}
		} else if r.WaitingFor != problem.Reason {
			r.WaitingFor, r.Since = problem.Reason, m.clock.Now()
		}
	})
}

// RemoteChanged notes that a change of the remote object came in just now.
func (m *Memory) RemoteChanged(key types.NamespacedName) {
	m.Change(key, func(r *Record) {
		if r.Unshown.IsZero() {
			r.Unshown = m.clock.Now()
		}
	})
}

// Shown forgets a change of the remote object that came in before the object was observed, at
// that moment: the local one shows it, or there is nothing to show.
func (m *Memory) Shown(key types.NamespacedName, observed time.Time) {
	m.Change(key, func(r *Record) {
		if !r.Unshown.After(observed) {
			r.Unshown = time.Time{}
		}
	})
}
