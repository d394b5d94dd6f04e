package memory

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/decide"
)

// Noted is one value for each of many objects.
type Noted[V comparable] struct {
	mu     sync.Mutex
	values map[types.NamespacedName]V
}

func newNoted[V comparable]() *Noted[V] { return &Noted[V]{values: map[types.NamespacedName]V{}} }

// Set notes a value.
func (n *Noted[V]) Set(key types.NamespacedName, value V) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.values[key] = value
}

// Get is the value; the zero value if none is noted.
func (n *Noted[V]) Get(key types.NamespacedName) V {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.values[key]
}

// Is reports whether this value is noted.
func (n *Noted[V]) Is(key types.NamespacedName, value V) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	noted, ok := n.values[key]
	return ok && noted == value
}

// Drop forgets the value.
func (n *Noted[V]) Drop(key types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.values, key)
}

// Problems are the last problem of each object that has one.
type Problems struct{ noted *Noted[decide.Problem] }

func newProblems() *Problems { return &Problems{newNoted[decide.Problem]()} }

// Change notes the problem of an object, which may be nil, and reports whether it is
// another one than before.
func (p *Problems) Change(key types.NamespacedName, problem *decide.Problem) bool {
	n := p.noted
	n.mu.Lock()
	defer n.mu.Unlock()
	before, had := n.values[key]
	if problem == nil {
		delete(n.values, key)
		return had
	}
	n.values[key] = *problem
	return !had || before != *problem
}
