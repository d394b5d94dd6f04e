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
	key := client.ObjectKeyFromObject(pod)
	if answer == "" {
		if r.forget(binding, key) {
			r.tell(Change{Binding: binding, Pod: pod})
		}
		return
	}
	r.mu.Lock()
	n, ok := r.nodes[binding]
	news := ok && n.refused[key] != answer
	if ok {
		n.refused[key] = answer
	}
	r.mu.Unlock()
	if news {
		r.tell(Change{Binding: binding, Pod: pod})
	}
}

func (r *Inventory) refusals(binding string) map[types.NamespacedName]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := r.nodes[binding]; ok {
		return maps.Clone(n.refused)
	}
	return nil
}

// forget drops the answer about a pod, and reports whether there was one.
func (r *Inventory) forget(binding string, key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.nodes[binding]
	if !ok {
		return false
	}
	_, had := n.refused[key]
	delete(n.refused, key)
	return had
}
