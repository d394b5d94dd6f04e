// Package fleet owns the connections to the providers.
//
// # Usage
//
// The clusterbinding controller calls Connect with the credentials of a ClusterBinding,
// and Disconnect when it is gone; neither blocks. All others ask State whether and why a
// provider can be used, and Get it (client, cache and more). multicluster-runtime engages
// controllers with it as a cluster, of which Of makes a Provider again. Events reports every
// change of state.
//
// # Implementation
//
// A token of the same account takes the place of the one before without a new connection.
//
// Each connection has its own goroutine, which identifies the provider, fills its caches,
// engages it with the manager, probes it every few seconds, disengages it when it stops
// answering, and starts again. So a hanging provider blocks only its own goroutine, and
// no request outlives its connection. Caches are full before a provider is engaged,
// because engaging waits for them and would block all others. Of a kind that turns out to have
// no objects the watch ends again, until somebody needs it (informer.Demand).
//
// # Trade-offs
//
// A lost connection drops its caches, and the next one fills them again: one LIST per
// kind for each outage. In return nothing is ever decided on outdated caches.
package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/fleet/budget"
)

// DefaultLeaseDuration is how long a Lease in a provider holds without renewal.
const DefaultLeaseDuration = 15 * time.Second

// Options say how a Fleet keeps its connections. Zero values take defaults.
type Options struct {
	// Origin is the identity of the consumer; a provider of the same identity
	// is refused. Required.
	Origin string
	// ProbeInterval is the time from a failed probe of a provider to the next one. While the
	// provider answers, it is probed once it was not heard of for twice as long. Default 3s.
	ProbeInterval time.Duration
	// ProbeTimeout is how long a probe may take. Default 4s.
	ProbeTimeout time.Duration
	// ProbeFailures is how many probes in a row must fail for a connection to
	// count as lost. Default 2.
	ProbeFailures int
	// SyncTimeout is how long filling the caches may take. Default 60s.
	SyncTimeout time.Duration
	// LeaseDuration is how long our Lease in a provider holds without renewal, and so how
	// long the next manager waits after a crash. Default DefaultLeaseDuration.
	LeaseDuration time.Duration
	// Identity is this manager's in those Leases. Default: the host, and a unique number.
	Identity string
	// Shares reports whether a live manager of that identity shares the bindings with
	// this one; nil: none does. This manager waits for such a replica to give its Leases
	// back. It then uses no provider that denies us a Lease, since nothing else keeps two
	// replicas from writing there.
	Shares func(identity string) bool
	// WrapTransport, if set, wraps the transport to each provider, outermost:
	// for counting requests and injecting faults.
	WrapTransport func(binding string, rt http.RoundTripper) http.RoundTripper
	// Kinds are the marked kinds that the caches hold, besides namespaces, all of the
	// core API group. The caches return shared objects: do not change them.
	Kinds []Kind
	// Clock defaults to the real one.
	Clock clock.WithTickerAndDelayedExecution
}

// Kind is one that the caches of the providers hold.
type Kind struct {
	Object client.Object
	// ClusterScoped is set if it has no namespace.
	ClusterScoped bool
	// Optional tells that the rest works without it: if the provider does not let
	// us read it, that is said, and the connection goes on (see package rights).
	Optional bool
	// Labels, besides the mark, are on all that is held.
	Labels map[string]string
}

func (o *Options) defaults() {
	o.ProbeInterval = cmp.Or(o.ProbeInterval, 3*time.Second)
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, 4*time.Second)
	o.ProbeFailures = cmp.Or(o.ProbeFailures, 2)
	o.SyncTimeout = cmp.Or(o.SyncTimeout, time.Minute)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, DefaultLeaseDuration)
	o.Identity = cmp.Or(o.Identity, NewIdentity())
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

// Target is a provider to connect to.
type Target struct {
	// Name is that of the ClusterBinding.
	Name string
	// ClusterID is that of the ClusterBinding.
	ClusterID string
	// Config was made by kubeconfig.Load.
	Config *rest.Config
	// Fingerprint and Endpoint are digests of Config: of the whole, and of all but the
	// token (see kubeconfig.Fingerprint).
	Fingerprint, Endpoint string
	// PinnedUID is the identity that the provider must have. While it is
	// empty the provider is identified, and not used for anything.
	PinnedUID string
	// Holder is what the ClusterBinding remembers of the Lease in the provider. With TakeOver a
	// user allows a take-over of that Lease: it is the Lease's generation, or the identity of a
	// manager, which may then take over any generation.
	Holder   v1alpha1.HolderStatus
	TakeOver string
	// Budget limits its caches.
	Budget budget.Budget
	// Leaving is set for a binding that no longer needs its provider: nothing is engaged,
	// and our Lease there is deleted. The connection then ends in the phase Left, or
	// after a few failed tries in Disconnected, without another try.
	Leaving bool
}

// continues reports whether a connection to one target is one to the other too, perhaps
// with another token. Its pinned identity may come later.
func (t Target) continues(with Target) bool {
	return t.Endpoint == with.Endpoint && t.ClusterID == with.ClusterID && t.Budget == with.Budget && t.Leaving == with.Leaving
}

// Fleet keeps a connection to each provider.
type Fleet struct {
	options Options
	events  chan event.TypedGenericEvent[*v1alpha1.ClusterBinding]

	mu          sync.Mutex
	running     context.Context // Set by Start; nil before.
	aware       multicluster.Aware
	connections map[string]*keeper
	ended       map[string]*keeper // The last stopped one of each name.
	engaged     map[string]*Provider
	indexes     []index
}

// index is added to every provider's cache.
type index struct {
	object  client.Object
	field   string
	extract client.IndexerFunc
}

var (
	_ multicluster.Provider         = Clusters{}
	_ multicluster.ProviderRunnable = Clusters{}
)

// New returns a Fleet without connections.
func New(options Options) *Fleet {
	options.defaults()
	return &Fleet{
		options:     options,
		events:      make(chan event.TypedGenericEvent[*v1alpha1.ClusterBinding], 1024),
		connections: map[string]*keeper{},
		ended:       map[string]*keeper{},
		engaged:     map[string]*Provider{},
	}
}

// Start runs the connections until ctx ends. The multicluster manager calls it.
func (f *Fleet) Start(ctx context.Context, aware multicluster.Aware) error {
	f.mu.Lock()
	f.running, f.aware = ctx, aware
	for _, c := range f.connections {
		c.start(ctx)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.ending(ctx)
	return nil
}

// ending waits until every connection has given back its Lease, since the process may end
// with the manager. Each bounds its last request.
func (f *Fleet) ending(ctx context.Context) {
	f.mu.Lock()
	all := slices.AppendSeq(slices.Collect(maps.Values(f.connections)), maps.Values(f.ended))
	f.mu.Unlock()
	for _, c := range all {
		<-c.done
	}
	log.FromContext(ctx).V(1).Info("all connections have ended")
}

// Connect makes sure that there is a connection to the target, and never
// blocks. Other credentials than before, or another budget, end the old connection
// and start a new one; a newly pinned identity, and a renewed token of the same account,
// let the connection go on.
func (f *Fleet) Connect(target Target) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.connections[target.Name]
	if ok && c.goesOn(target) {
		c.pin(target.PinnedUID)
		c.hold.record(target.Holder, target.TakeOver)
		return
	}
	f.begin(target, ok && (c.fingerprint() != target.Fingerprint || c.currentState().Untried))
}

// begin starts a connection, in place of the one of that name. The lock is held.
func (f *Fleet) begin(target Target, untried bool) {
	f.end(target.Name)
	c := newKeeper(f, target, f.ended[target.Name])
	c.state.Untried = untried
	f.connections[target.Name] = c
	if f.running != nil {
		c.start(f.running)
	}
}

// Leave ends the connection of that name, as Disconnect does, for a binding that is gone
// because somebody removed its finalizer: the next connection of the name waits until the
// provider was left.
func (f *Fleet) Leave(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.connections[name]
	f.end(name)
	if !ok || f.running == nil || c.currentState().Phase == Left {
		return
	}
	last := newKeeper(f, c.parting(), f.ended[name])
	f.ended[name] = last
	last.start(f.running)
}

// Disconnect ends the connection of that name, and never blocks.
func (f *Fleet) Disconnect(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end(name)
}

// end stops the connection of that name. The next one of the name waits until it has
// ended. The lock is held.
func (f *Fleet) end(name string) {
	c, ok := f.connections[name]
	if !ok {
		return
	}
	delete(f.connections, name)
	c.stop()
	select {
	case <-c.done: // It ended by itself, and nothing would drop it.
	default:
		f.ended[name] = c
	}
}

// State of the connection of that name; NotConnected if there is none.
func (f *Fleet) State(name string) State {
	f.mu.Lock()
	c, ok := f.connections[name]
	f.mu.Unlock()
	if !ok {
		return State{Phase: NotConnected}
	}
	return c.currentState()
}

// LastContact is when the provider of that name last answered; zero if it never did or is
// not connected.
func (f *Fleet) LastContact(name string) time.Time { return f.State(name).LastContact }

// Get returns a connected provider, by the name of its ClusterBinding. It fails with
// multicluster.ErrClusterNotFound if the provider is not connected.
func (f *Fleet) Get(name string) (*Provider, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if provider, ok := f.engaged[name]; ok {
		return provider, nil
	}
	return nil, fmt.Errorf("provider of ClusterBinding %s: %w", name, multicluster.ErrClusterNotFound)
}

// Usage returns how much of their budgets the connected providers use.
func (f *Fleet) Usage() []connection.Usage {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []connection.Usage
	for _, provider := range f.engaged {
		usage := provider.Budget.Usage()
		usage.ClusterID = provider.ClusterID
		all = append(all, usage)
	}
	return all
}

// Clusters is a Fleet as multicluster-runtime's provider of clusters.
type Clusters struct{ *Fleet }

// Get returns a connected provider as a cluster; see Of.
func (c Clusters) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	provider, err := c.Fleet.Get(string(name))
	if err != nil {
		return nil, err // And no cluster that is a nil Provider.
	}
	return provider, nil
}

// IndexField adds an index to the caches of providers. Engaged ones get it with their
// next connection.
func (f *Fleet) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.indexes = append(f.indexes, index{obj, field, extract})
	return nil
}

// engage hands a running provider, with full caches, to the manager.
func (f *Fleet) engage(ctx context.Context, name string, provider *Provider) error {
	f.mu.Lock()
	f.engaged[name] = provider
	aware := f.aware
	f.mu.Unlock()
	return aware.Engage(ctx, multicluster.ClusterName(name), provider)
}

func (f *Fleet) disengage(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.engaged, name)
}

// forget drops a connection that has ended.
func (f *Fleet) forget(c *keeper) {
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
		if c.currentState().Phase == Connected {
			n++
		}
	}
	return n
}

// Events reports every change of state, with a ClusterBinding of which only the name is
// set.
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
