package syncer

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// FromProvider is a kind of objects that are shown in the consumer because they are in
// a provider.
type FromProvider interface {
	// Name of the kind, in keys and metrics.
	Name() string
	// Backoff is how long an object waits after an error. One is reconciled at a time.
	Backoff() workqueue.TypedRateLimiter[decide.Key]
	// Attach makes the controller of the kind for a connection, which ends with ctx.
	Attach(ctx context.Context, c Connection) (Runner, error)
}

// Connection is what such a controller is given of a connection.
type Connection struct {
	// Mark is what our objects in the provider carry.
	Mark     provenance.Mark
	View     *views.View
	Provider *fleet.Provider
	// Whole has all of the consumer's objects of the kinds that are sent because of their
	// namespace.
	Whole cache.Cache
	// IsCopy reports whether a remote object is where the copy of a local one of such a kind is, or
	// would be.
	IsCopy func(kind Registration, local, remote types.NamespacedName) bool
	// Paused reports whether the binding is paused. When it is not any more, EnqueueNamespace
	// is called for all namespaces.
	Paused func() bool
	// Enqueue has objects of the kind reconciled. It must not be called before Runner.Start.
	Enqueue func(keys ...decide.Key)
}

// Runner is the controller of a kind, in one connection.
type Runner interface {
	reconcile.TypedReconciler[decide.Key]
	// Start enqueues what changes until ctx ends, and does not block.
	Start(ctx context.Context) error
	// EnqueueNamespace enqueues all objects that are known, of one local namespace, or of all
	// of them if it is empty.
	EnqueueNamespace(ctx context.Context, namespace string)
}
