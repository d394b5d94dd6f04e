package fleet

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/provider/autoscaler"
	"github.com/spillway-io/spillway/internal/provider/budget"
	"github.com/spillway-io/spillway/internal/provider/classes"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/foreign"
	"github.com/spillway-io/spillway/internal/provider/rights"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// Provider is a provider during one connection: its client and cache, and what is known about it. All of it
// ends with the connection, so nobody can use the answers of another one.
type Provider struct {
	cluster.Cluster
	// ClusterID is the clusterID of the ClusterBinding.
	ClusterID string
	// Account is the account under which the provider knows the manager. See provenance.Account.
	Account string
	// Rights knows which kinds the provider does not let the manager read.
	Rights *rights.Rights
	// Limits are what the provider allows.
	Limits *Limits
	// Classes knows which classes the provider has.
	Classes *classes.Classes
	// Room knows what the provider's CSI drivers report of the room for volumes.
	Room *classes.Room
	// Foreign knows what the pods there request that are not this consumer's.
	Foreign *foreign.Pods
	// Autoscaler knows for which pods the provider starts no node.
	Autoscaler *autoscaler.Answers
	// Budget counts what the caches hold, and what was sent.
	Budget *budget.Ledger
	// Streams opens streams to the provider.
	Streams Streams
	// PodMetrics reads what Spillway's pods there use.
	PodMetrics *PodMetrics
	// CacheReader reads the cache, corrected by the writes that are noted with it.
	CacheReader *ownwrites.Reader
	// ClockSkew returns how far the provider's clock is ahead of the manager's, at least. Negative means behind.
	ClockSkew func() time.Duration
	// Remaining returns how long the Lease there is still valid, as for transport.Options. Nil means for ever.
	Remaining func() (time.Duration, bool)
	// OnReopened calls a function whenever writes are allowed again, until the context ends. Nil means never.
	OnReopened func(context.Context, func())
}

// Streams opens streams to a provider with the credentials of one connection.
type Streams struct {
	*transport.Streams
	// Identity says which cluster it is, and under which account it knows the manager. A stream may outlive its
	// connection, as long as the next one has the same Identity.
	Identity string
}

// Of returns the Provider that a controller is engaged with as a cluster. It fails for a cluster that no Fleet
// has connected, such as the consumer.
func Of(engaged cluster.Cluster) (*Provider, error) {
	provider, ok := engaged.(*Provider)
	if !ok {
		return nil, fmt.Errorf("a %T is engaged, which is no connection to a provider", engaged)
	}
	return provider, nil
}

// Fenced returns transport.ErrFenced if the Lease in the provider has expired. By then, another manager may
// have sent objects that the caches do not show.
func (p *Provider) Fenced() error {
	if p.Remaining == nil {
		return nil
	}
	if left, bounded := p.Remaining(); bounded && left <= 0 {
		return transport.ErrFenced
	}
	return nil
}

// Reopened calls the follower whenever the Lease in the provider is renewed after it had expired, until ctx ends. The
// follower must not block.
func (p *Provider) Reopened(ctx context.Context, follower func()) {
	if p.OnReopened != nil {
		p.OnReopened(ctx, follower)
	}
}

// engaged has the connected providers that the controllers are engaged with.
type engaged struct {
	mu        sync.Mutex
	aware     multicluster.Aware // Engages the controllers.
	providers map[string]*Provider
	indexes   []index
}

// index is added to every provider's cache.
type index struct {
	object  client.Object
	field   string
	extract client.IndexerFunc
}

// Get returns a connected provider, by the name of its ClusterBinding. It fails with
// multicluster.ErrClusterNotFound if the provider is not connected.
func (e *engaged) Get(name string) (*Provider, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if provider, ok := e.providers[name]; ok {
		return provider, nil
	}
	return nil, fmt.Errorf("provider of ClusterBinding %s: %w", name, multicluster.ErrClusterNotFound)
}

// Usage returns how much of their budgets the connected providers use.
func (e *engaged) Usage() []connection.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []connection.Usage
	for _, provider := range e.providers {
		usage := provider.Budget.Usage()
		usage.ClusterID = provider.ClusterID
		all = append(all, usage)
	}
	return all
}

// IndexField adds an index to the caches of providers. Providers that are already engaged get it with their
// next connection.
func (e *engaged) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.indexes = append(e.indexes, index{obj, field, extract})
	return nil
}

// addIndexes adds all indexes to a new cache.
func (e *engaged) addIndexes(ctx context.Context, to client.FieldIndexer) error {
	e.mu.Lock()
	indexes := slices.Clone(e.indexes)
	e.mu.Unlock()
	for _, i := range indexes {
		if err := to.IndexField(ctx, i.object, i.field, i.extract); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", i.object, i.field, err)
		}
	}
	return nil
}

// engagedBy sets what engages the controllers.
func (e *engaged) engagedBy(aware multicluster.Aware) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.aware = aware
}

// engage hands a running provider, with full caches, to the manager.
func (e *engaged) engage(ctx context.Context, name string, provider *Provider) error {
	e.mu.Lock()
	e.providers[name] = provider
	aware := e.aware
	e.mu.Unlock()
	return aware.Engage(ctx, multicluster.ClusterName(name), provider)
}

func (e *engaged) disengage(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.providers, name)
}

var (
	_ multicluster.Provider         = Clusters{}
	_ multicluster.ProviderRunnable = Clusters{}
)

// Clusters is a Fleet as multicluster-runtime's provider of clusters.
type Clusters struct{ *Fleet }

// Get returns a connected provider as a cluster; see Of.
func (c Clusters) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	provider, err := c.Fleet.Get(string(name))
	if err != nil {
		return nil, err // Not a cluster that is a nil Provider.
	}
	return provider, nil
}
