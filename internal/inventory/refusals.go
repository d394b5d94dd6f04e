package inventory

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NoteRefused keeps the API server's answer to the eviction of a pod; "" clears it. It
// sends a change if the answer is new.
func (r *Inventory) NoteRefused(binding string, pod *corev1.Pod, answer string) {
	if r.refuse(binding, client.ObjectKeyFromObject(pod), answer) {
		r.tell(Change{Binding: binding, Pod: pod})
	}
}

// refuse keeps an answer, and reports whether it is new.
func (r *known) refuse(binding string, key types.NamespacedName, answer string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.nodes[binding]
	if !ok {
		return false
	}
	before := n.refused[key]
	if n.refused[key] = answer; answer == "" {
		delete(n.refused, key)
	}
	return before != answer
}

func (r *known) refusals(binding string) map[types.NamespacedName]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := r.nodes[binding]; ok {
		return maps.Clone(n.refused)
	}
	return nil
}
