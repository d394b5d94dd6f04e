package podreturn

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// memories has the memory of each namespace with spec.return.
type memories struct {
	mu sync.Mutex
	of map[string]*memory
}

// get returns the memory of a namespace, with the last return that the status shows.
func (m *memories) get(nso *v1alpha1.NamespaceOffloading, now time.Time) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of[nso.Namespace]
	if known == nil || known.uid != nso.UID {
		known = &memory{uid: nso.UID}
		if meta.FindStatusCondition(nso.Status.Conditions, v1alpha1.OffloadingReturns) != nil {
			known.restored = now
		}
		if m.of == nil {
			m.of = map[string]*memory{}
		}
		m.of[nso.Namespace] = known
		known.from(nso.Status.LastReturn)
	}
	return known
}

func (m *memories) forget(namespace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, namespace)
}

// namespaces returns those that have a memory, sorted.
func (m *memories) namespaces() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, 0, len(m.of))
	for name := range m.of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// has reports whether a namespace has a memory.
func (m *memories) has(namespace string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[namespace] != nil
}

func (m *memory) from(last *v1alpha1.LastReturn) {
	if last != nil {
		m.last = spill.Returned{At: last.Time.Time, From: int(last.FromTier), Pod: last.Pod, Owner: last.Owner, Failed: last.Failed, Failures: last.Failures}
		m.fresh = true
	}
}

// into writes the last return into a status.
func (m *memory) into(status *v1alpha1.NamespaceOffloadingStatus) {
	if m.last.At.IsZero() {
		return
	}
	status.LastReturn = &v1alpha1.LastReturn{
		Time: metav1.NewTime(m.last.At).Rfc3339Copy(), Pod: m.last.Pod, Owner: m.last.Owner, FromTier: int32(m.last.From), Failed: m.last.Failed, Failures: m.last.Failures,
	}
}
