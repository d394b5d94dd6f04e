package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// FromProvider is a kind with a controller of its own for each connection. Its objects exist in a provider only.
// Some are shown in the consumer. A controller that implements observe.Tokens gives pods their API tokens.
type FromProvider interface {
	// Name returns the name of the kind, in keys and metrics.
	Name() string
	// Workers is how many objects of the kind are reconciled at a time.
	Workers() int
	// Backoff returns how long an object waits after an error.
	Backoff() workqueue.TypedRateLimiter[decide.Key]
	// Attach creates the controller of the kind for a connection, which ends with ctx.
	Attach(ctx context.Context, c Connection) (Runner, error)
}

// Connection is what Attach gets to know of a connection.
type Connection struct {
	// Binding is the ClusterBinding, as it was when the connection began.
	Binding *v1alpha1.ClusterBinding
	// Mark is what Spillway's objects in the provider carry.
	Mark     provenance.Mark
	View     *views.View
	Provider *fleet.Provider
	// Remote reads the provider's cache, corrected by the writes of this process. It has no content.
	Remote *ownwrites.Reader
	// ClusterWide has all of the consumer's objects of the kinds that are sent because of their namespace.
	ClusterWide cache.Cache
	// IsCopy reports whether a remote object is where the copy of the local one is, or would be. The kind must
	// be one that is sent because of its namespace.
	IsCopy func(kind Registration, local, remote types.NamespacedName) bool
	// Destinations are where the objects of a local namespace may be in the provider.
	Destinations func(namespace string) []decide.Destination
	// API says which pods use the consumer's API, and where they reach it.
	API func() field.ConsumerAPI
	// Paused reports whether the binding is paused. When the pause ends, EnqueueNamespace is called for all
	// namespaces.
	Paused func() bool
	// AllEvents reports whether the binding shows events of the type Normal, too. When that changes,
	// EnqueueNamespace is called for all namespaces.
	AllEvents func() bool
	// Enqueue enqueues objects of any kind. It must not be called before Runner.Start.
	Enqueue func(keys ...decide.Key)
}

// Runner is the controller of a kind, in one connection.
type Runner interface {
	reconcile.TypedReconciler[decide.Key]
	// Start enqueues what changes until ctx ends. It does not block.
	Start(ctx context.Context) error
	// EnqueueNamespace enqueues all known objects of a local namespace. An empty name means all namespaces.
	EnqueueNamespace(ctx context.Context, namespace string)
}
