package metrics

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WhenElected reads a manager's cache from the moment that the manager is elected. Before, it returns
// nothing. The first read of a kind starts a watch, so a standby that is scraped would watch the consumer for
// days, for nobody. If replicas share the bindings, the elected one reports on all of them.
type WhenElected struct {
	Reader  client.Reader
	Elected <-chan struct{}
}

var _ Lister = WhenElected{}

// Lister is the part of a client.Reader that collectors need.
type Lister interface {
	List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error
}

// List lists objects, or none.
func (r WhenElected) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	select {
	case <-r.Elected:
		return r.Reader.List(ctx, list, options...)
	default:
		return nil
	}
}
