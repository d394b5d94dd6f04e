package inventory

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/internal/retry"
)

// NoteRefused stores the API server's answer to the eviction of a pod; "" clears it. It sends a change if the
// answer is new.
func (r *Inventory) NoteRefused(binding string, pod *corev1.Pod, answer string) {
	if r.refuse(binding, client.ObjectKeyFromObject(pod), answer) {
		r.notify(Change{Binding: binding, Pod: pod})
	}
}

// refuse stores an answer, and reports whether it is new.
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

// waiting has the API server's answers to the evictions of pods that wait for a node. Such pods are on no
// virtual node.
type waiting struct {
	guard    sync.Mutex
	refused  map[string]map[types.NamespacedName]string // By namespace.
	handlers []func(namespace string)
}

// NoteWaiting stores the API server's answers to the evictions of all pods of a namespace that wait for a
// node. It sends a change if the answers are new. Texts that differ only in numbers count as the same.
func (w *waiting) NoteWaiting(namespace string, refused map[types.NamespacedName]string) {
	for _, handle := range w.note(namespace, refused) {
		handle(namespace)
	}
}

// note returns the handlers to call.
func (w *waiting) note(namespace string, refused map[types.NamespacedName]string) []func(string) {
	w.guard.Lock()
	defer w.guard.Unlock()
	if maps.EqualFunc(w.refused[namespace], refused, retry.SameError) {
		return nil
	}
	if w.refused == nil {
		w.refused = map[string]map[types.NamespacedName]string{}
	}
	if w.refused[namespace] = maps.Clone(refused); len(refused) == 0 {
		delete(w.refused, namespace)
	}
	return w.handlers // The list only grows.
}

// RefusedWaiting returns the stored answers. Callers must not change them.
func (w *waiting) RefusedWaiting(namespace string) map[types.NamespacedName]string {
	w.guard.Lock()
	defer w.guard.Unlock()
	return w.refused[namespace]
}

// WaitingSource is a source for a controller. After Settle, it enqueues the request for each namespace whose
// answers about waiting pods have changed.
func WaitingSource[R comparable](r *Inventory, request func(namespace string) R) source.TypedSource[R] {
	return source.TypedFunc[R](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		r.waiting.guard.Lock()
		defer r.waiting.guard.Unlock()
		r.waiting.handlers = append(r.waiting.handlers, func(namespace string) { queue.AddAfter(request(namespace), Settle) })
		return nil
	})
}
