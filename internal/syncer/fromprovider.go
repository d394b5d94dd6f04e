package syncer

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/views"
)

// FromProvider is a kind of objects that are shown in the consumer because they are in
// a provider.
type FromProvider interface {
	// Attach makes the controller of the kind for a connection, which ends with ctx.
	Attach(ctx context.Context, c Connection) (Runner, error)
}

// Connection is what such a controller is given of a connection.
type Connection struct {
	// Mark is what our objects in the provider carry.
	Mark     provenance.Mark
	View     *views.View
	Provider cluster.Cluster
	// Paused reports whether the binding is paused. When it is not any more, EnqueueNamespace
	// is called for all namespaces.
	Paused func() bool
}

// Runner is the controller of a kind, in one connection.
type Runner interface {
	// Start runs it until ctx ends, and does not block. If it ends before, it ends the
	// connection.
	Start(ctx context.Context) error
	// EnqueueNamespace enqueues all objects that are known, of one local namespace, or of all
	// of them if it is empty.
	EnqueueNamespace(ctx context.Context, namespace string)
}
