package podevent

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// memory is what is remembered of local objects that have events. A provider cannot
// influence when one is forgotten.
type memory struct {
	clock   clock.PassiveClock
	objects sync.Map // What was written, by the UID of the object.
}

// written is about the events of one object.
type written struct {
	*throttle.Pacer
	// created are the names of those that the cache may not show yet. They count towards
	// the limit: a provider that keeps warning of new things is faster than a watch.
	created map[string]bool
}

// of returns what is remembered of an object. Only Reconcile uses it, for one at a time.
func (m *memory) of(object types.UID) *written {
	found, _ := m.objects.LoadOrStore(object, &written{Pacer: throttle.New(interval, most, m.clock), created: map[string]bool{}})
	return found.(*written) // Nothing else is stored.
}

// forget drops what is remembered of an object that is gone.
func (m *memory) forget(object types.UID) { m.objects.Delete(object) }
