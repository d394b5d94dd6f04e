// Package inventory knows what is on the virtual nodes, and reports every change.
//
// Deletions depend on it. A ClusterBinding is drained when nothing is left on its virtual node. A
// NamespaceOffloading can be deleted when none of its pods is left on any virtual node. The inventory reads
// pods and copies from package views. The clusterbinding controller opens and closes the views through Open
// and Close. Source sends changes to controllers, so none of them polls. The inventory also keeps the API
// server's answers to refused evictions, for the controllers that report what they wait for.
//
// A view that is not full yet proves nothing. Nothing in this package waits for it: readers get ErrUnknown,
// and Source sends a change when the view is full.
package inventory

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer/views"
)

// Inventory watches the views.
type Inventory struct {
	views *views.Views

	known
	waiting
	problems
	running  context.Context // Set by Start; nil before. Under the lock.
	handlers []func(Change)  // Under the lock, too.
}

// known are the watched nodes, by the name of the binding.
type known struct {
	mu    sync.Mutex
	nodes map[string]*node
}

// node is the virtual node of one binding.
type node struct {
	view *views.View
	full bool
	// stop ends the wait for the view.
	stop context.CancelFunc
	// refused is the API server's answer to the last eviction of a pod.
	refused map[types.NamespacedName]string
}

// Request is a pod on the virtual node of a binding, as the controllers of such pods enqueue it.
type Request struct {
	Binding string
	types.NamespacedName
}

// Change is a change on the virtual node of a binding.
type Change struct {
	Binding string
	// Pod was added, deleted or changed in a way that matters here. If nil, anything may have changed.
	Pod *corev1.Pod
	// Copies is set if the change is not of a pod, but of an object that is sent because pods need it.
	Copies bool
}

var (
	_ manager.Runnable               = &Inventory{}
	_ manager.LeaderElectionRunnable = &Inventory{}
)

// New returns an Inventory of the views. It watches their pods and their kinds.
func New(v *views.Views) *Inventory {
	return &Inventory{views: v, known: known{nodes: map[string]*node{}}}
}

// NeedLeaderElection is true, as for the views.
func (*Inventory) NeedLeaderElection() bool { return true }

// Start waits for the views to be full, until ctx ends.
func (r *Inventory) Start(ctx context.Context) error {
	r.mu.Lock()
	r.running = ctx
	for name, n := range r.nodes {
		r.await(ctx, name, n)
	}
	r.mu.Unlock()
	<-ctx.Done()
	return nil
}

// Open ensures that the binding has a view, and that the inventory watches it. It never blocks.
func (r *Inventory) Open(ctx context.Context, binding *v1alpha1.ClusterBinding) error {
	if view := r.views.Get(binding.Name); view != nil && view.ClusterID != binding.Spec.ClusterID {
		r.Close(binding.Name) // The view belongs to an earlier binding of this name.
	}
	if err := r.views.Open(ctx, binding.Name, binding.Spec.ClusterID, binding.VirtualNodeName()); err != nil {
		return err
	}
	view := r.views.Get(binding.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if before, ok := r.nodes[binding.Name]; ok {
		if before.view == view {
			return nil
		}
		r.drop(binding.Name)
	}
	n := &node{view: view, refused: map[types.NamespacedName]string{}}
	if err := r.watch(context.WithoutCancel(ctx), binding.Name, view); err != nil { // The watch lasts as long as the view.
		return err
	}
	r.nodes[binding.Name] = n
	if r.running != nil {
		r.await(r.running, binding.Name, n) //nolint:contextcheck // It outlives the reconcile that opens the view.
	}
	return nil
}

// Close closes the view of the binding with that name, if any.
func (r *Inventory) Close(name string) {
	r.mu.Lock()
	r.drop(name)
	r.mu.Unlock()
	r.views.Close(name)
}

// drop forgets a node. The caller holds the lock.
func (r *Inventory) drop(name string) {
	if n, ok := r.nodes[name]; ok {
		if n.stop != nil {
			n.stop()
		}
		delete(r.nodes, name)
	}
}

// await sets full when the view is full, and sends a change. ctx is the manager's, so it outlives a
// reconcile. The caller holds the lock.
func (r *Inventory) await(ctx context.Context, name string, n *node) {
	ctx, stop := context.WithCancel(ctx)
	n.stop = stop
	go func() {
		defer stop()
		if !n.view.WaitForCacheSync(ctx) || ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		n.full = true
		r.mu.Unlock()
		r.notify(Change{Binding: name})
	}()
}

// subscribe calls handle for each change from now on, and once for each binding whose view is already full.
func (r *Inventory) subscribe(handle func(Change)) {
	r.mu.Lock()
	r.handlers = append(r.handlers, handle)
	var full []string
	for name, n := range r.nodes {
		if n.full {
			full = append(full, name)
		}
	}
	r.mu.Unlock()
	for _, name := range full {
		handle(Change{Binding: name})
	}
}

func (r *Inventory) notify(change Change) {
	r.mu.Lock()
	handlers := r.handlers // The list only grows.
	r.mu.Unlock()
	for _, handle := range handlers {
		handle(change)
	}
}

// full returns the node of a binding whose view is full, or nil.
func (r *known) full(name string) *node {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n, ok := r.nodes[name]; ok && n.full {
		return n
	}
	return nil
}
