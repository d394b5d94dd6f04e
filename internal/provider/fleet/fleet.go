// Package fleet owns the connections to the providers.
//
// # Usage
//
// The clusterbinding controller calls Connect with the credentials of a ClusterBinding, and Disconnect when the
// binding is gone. Neither blocks. State says whether a provider can be used, or why not. Get returns the
// Provider: its client, its cache, and what is known about it. multicluster-runtime engages the controllers
// with the same Provider as a cluster, from which Of returns the Provider. Events reports every change of
// state.
//
// # Implementation
//
// Each connection has a connector with its own goroutine, so a hanging provider blocks nobody else. The connector
// runs one session after another, and reports why each ended. A session identifies the provider, acquires the
// Lease there (leaseManager), fills the caches and engages the controllers. It renews the Lease, and probes a
// provider that is silent, until that no longer answers (keeper; pulse says when). No request outlives the session.
// Only the link does: the credentials, the report, what is known about the Lease (leaseState), and until when
// writes are allowed (fence).
//
// A token of the same account replaces the previous one without a new session. Caches are full before
// controllers are engaged, because engaging waits for them and would block all others. The watch of a kind that
// has no objects ends, until somebody needs the kind (informer.Demand).
//
// # Trade-offs
//
// A lost connection drops its caches, and the next session fills them again: one LIST per kind for each outage.
// In return, nothing is ever decided on outdated caches.
package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Fleet keeps a connection to each provider.
type Fleet struct {
	*engaged // Get, IndexField and Usage.
	options  Options
	events   chan event.TypedGenericEvent[*v1alpha1.ClusterBinding]

	mu          sync.Mutex
	running     context.Context // Set by Start; nil before.
	connections map[string]*connector
	ended       map[string]*connector // The last stopped connector of each name.
}

// New returns a Fleet without connections.
func New(options Options) *Fleet {
	options.defaults()
	return &Fleet{
		engaged:     &engaged{providers: map[string]*Provider{}},
		options:     options,
		events:      make(chan event.TypedGenericEvent[*v1alpha1.ClusterBinding], 1024),
		connections: map[string]*connector{},
		ended:       map[string]*connector{},
	}
}

// Start runs the connections until ctx ends, and returns when each has released its Lease. The manager calls
// it, and the process may end with the manager.
func (f *Fleet) Start(ctx context.Context, aware multicluster.Aware) error {
	f.engagedBy(aware)
	f.mu.Lock()
	f.running = ctx
	for _, c := range f.connections {
		c.start(ctx)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	all := slices.AppendSeq(slices.Collect(maps.Values(f.connections)), maps.Values(f.ended))
	f.mu.Unlock()
	for _, c := range all {
		<-c.done // It bounds its last request.
	}
	log.FromContext(ctx).V(1).Info("all connections have ended")
	return nil
}

// Connect makes sure that there is a connection to the target, and never blocks. Different credentials, or a
// different budget, end the old connection and start a new one. The connection continues after a newly pinned
// identity, and after a renewed token of the same account.
func (f *Fleet) Connect(target Target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.connections[target.Name]
	if ok && c.credentials.goesOn(target) {
		c.credentials.pin(target.PinnedUID)
		c.leaseState.record(target.Holder, target.TakeOver)
		return
	}
	f.begin(target, ok && (c.credentials.now().Fingerprint != target.Fingerprint || c.report.now().Untried))
}

// begin starts a connection, and ends the previous one of that name. The lock must be held.
func (f *Fleet) begin(target Target, untried bool) {
	last := f.end(target.Name)
	c := newConnector(f, target, cmp.Or(last, f.ended[target.Name]))
	c.report.state.Untried = untried
	f.connections[target.Name] = c
	if f.running != nil {
		c.start(f.running)
	}
}

// Leave ends the connection of that name, as Disconnect does, for a binding that is gone because somebody
// removed its finalizer. The next connection of the name waits until the manager has left the provider.
func (f *Fleet) Leave(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.connections[name]
	f.end(name)
	if !ok || f.running == nil || c.report.now().Phase == Left {
		return
	}
	leaving := c.next(c.credentials.now())
	leaving.Leaving = true
	last := newConnector(f, leaving, f.ended[name])
	f.ended[name] = last
	last.start(f.running)
}

// Disconnect ends the connection of that name, and never blocks.
func (f *Fleet) Disconnect(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(name)
}

// replace begins the connection that follows one that has ended because of its credentials, unless somebody has
// already done so.
func (f *Fleet) replace(c *connector, target Target) {
	target = c.next(target)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.connections[target.Name] == c {
		f.begin(target, true)
	}
}

// end stops the connection of that name, and returns it, or nil. The next connection of the name waits until it
// has ended. The lock must be held.
func (f *Fleet) end(name string) *connector {
	c, ok := f.connections[name]
	if !ok {
		return nil
	}
	delete(f.connections, name)
	c.stop()
	select {
	case <-c.done: // It ended by itself, and nothing else would drop it.
	default:
		f.ended[name] = c
	}
	return c
}

// State returns the state of the connection of that name. It is NotConnected if there is none.
func (f *Fleet) State(name string) State {
	f.mu.Lock()
	c, ok := f.connections[name]
	f.mu.Unlock()
	if !ok {
		return State{Phase: NotConnected}
	}
	return c.report.now()
}

// forget drops a connection that has ended.
func (f *Fleet) forget(c *connector) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended[c.target.Name] == c {
		delete(f.ended, c.target.Name)
	}
}

// Connected counts the usable providers.
func (f *Fleet) Connected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var n int
	for _, c := range f.connections {
		if c.report.now().Phase == Connected {
			n++
		}
	}
	return n
}

// Events reports every change of state, with a ClusterBinding that has only its name set.
func (f *Fleet) Events() <-chan event.TypedGenericEvent[*v1alpha1.ClusterBinding] {
	return f.events
}

func (f *Fleet) notify(ctx context.Context, name string) {
	binding := &v1alpha1.ClusterBinding{}
	binding.Name = name
	select {
	case f.events <- event.TypedGenericEvent[*v1alpha1.ClusterBinding]{Object: binding}:
	case <-ctx.Done():
	}
}
