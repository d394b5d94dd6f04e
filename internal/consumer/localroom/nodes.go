package localroom

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// nodes has the consumer's own nodes.
type nodes struct {
	changed func()

	mu   sync.Mutex
	of   map[string]Node // Free has what is allocatable.
	full bool
}

func newNodes(changed func()) *nodes { return &nodes{changed: changed, of: map[string]Node{}} }

// trim keeps what decides which pods a node takes.
func trim(node *corev1.Node) Node {
	trimmed := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels, DeletionTimestamp: node.DeletionTimestamp},
		Spec: corev1.NodeSpec{Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable}}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			trimmed.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return Node{trimmed, spill.SizeOfList(node.Status.Allocatable), hash(fmt.Sprint(node.Labels, node.Spec.Taints))}
}

// Add implements ReflectorStore.
func (n *nodes) Add(obj any) error { return n.Update(obj) }

// Update implements ReflectorStore.
func (n *nodes) Update(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return fmt.Errorf("%T is no node", obj)
	}
	n.mu.Lock()
	changes := n.put(node)
	n.mu.Unlock()
	if changes {
		n.changed()
	}
	return nil
}

// Delete implements ReflectorStore.
func (n *nodes) Delete(obj any) error {
	if gone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	node, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("%T is no object", obj)
	}
	n.mu.Lock()
	delete(n.of, node.GetName())
	n.mu.Unlock()
	n.changed()
	return nil
}

// Replace implements ReflectorStore.
func (n *nodes) Replace(all []any, _ string) error {
	n.mu.Lock()
	n.of = map[string]Node{}
	for _, obj := range all {
		if node, ok := obj.(*corev1.Node); ok {
			n.put(node)
		}
	}
	n.full = true
	n.mu.Unlock()
	n.changed()
	return nil
}

// Resync implements ReflectorStore.
func (*nodes) Resync() error { return nil }

// put notes a node, and reports whether anything differs that matters. Nodes report all the time. The
// caller holds the lock.
func (n *nodes) put(node *corev1.Node) (changes bool) {
	before, there := n.of[node.Name]
	if node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
		delete(n.of, node.Name) // The label may be new.
		return there
	}
	after := trim(node)
	if there && equality.Semantic.DeepEqual(before, after) {
		return false
	}
	n.of[node.Name] = after
	return true
}

// names returns the names of the nodes.
func (n *nodes) names() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	names := make(map[string]bool, len(n.of))
	for name := range n.of {
		names[name] = true
	}
	return names
}

// free returns the nodes, sorted, with what their pods leave, and whether all are known.
func (n *nodes) free(used map[string]spill.Size) (all []Node, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, node := range n.of {
		all = append(all, Node{node.Node, node.Free.Minus(used[name]), node.Shape})
	}
	slices.SortFunc(all, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return all, n.full
}
