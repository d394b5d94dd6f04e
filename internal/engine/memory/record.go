package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// Record is what Memory remembers of one object. Its zero value means nothing, and takes no memory.
type Record struct {
	// Lost is the UID of the local object, if the provider said that it has no remote one for it.
	Lost types.UID
	// Unanswered is the UID of the local object whose creation in the provider got no answer. The provider may
	// have carried it out.
	Unanswered types.UID
	// DroppedStatus is the last change of the status that the consumer did not keep.
	DroppedStatus decide.AppliedAction
	// WaitingFor is the reason of the object's problem. Since is when it began.
	WaitingFor string
	Since      time.Time
	// RemoteChangedAt is when the first change of the remote object arrived that the local object does not show yet.
	RemoteChangedAt time.Time
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

// Waiting returns the reason of an object's problem, and how long the object has had it.
func (m *Memory) Waiting(key types.NamespacedName) (reason string, waited time.Duration) {
	record := m.Get(key)
	if record.WaitingFor == "" {
		return "", 0
	}
	return record.WaitingFor, m.clock.Since(record.Since)
}

// Reconciled notes the problem of an object after a reconcile, nil if it has none. Another reason starts the
// time anew, so a short problem is not reported because of a long one before it.
func (m *Memory) Reconciled(key types.NamespacedName, problem *field.Problem) {
	m.Change(key, func(r *Record) {
		if problem == nil {
			r.WaitingFor, r.Since = "", time.Time{}
		} else if r.WaitingFor != problem.Reason {
			r.WaitingFor, r.Since = problem.Reason, m.clock.Now()
		}
	})
}

// RemoteChanged notes that a change of the remote object arrived just now.
func (m *Memory) RemoteChanged(key types.NamespacedName) {
	m.Change(key, func(r *Record) {
		if r.RemoteChangedAt.IsZero() {
			r.RemoteChangedAt = m.clock.Now()
		}
	})
}

// RemoteReported forgets a change of the remote object that arrived no later than observed, the time when the
// object was read. The local object shows the change now, or there is nothing to show.
func (m *Memory) RemoteReported(key types.NamespacedName, observed time.Time) {
	m.Change(key, func(r *Record) {
		if !r.RemoteChangedAt.After(observed) {
			r.RemoteChangedAt = time.Time{}
		}
	})
}
