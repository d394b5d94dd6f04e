package metrics

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WhenElected reads a manager's cache from the moment that it is elected on; before, it
// reads that there is nothing. What is first read of a cache is watched from then on: a
// standby that is scraped would watch the consumer, for nobody, for days. Of replicas
// that share the bindings, the elected one reports on all of them.
type WhenElected struct {
	Reader  client.Reader
	Elected <-chan struct{}
}

var _ Lister = WhenElected{}

// Lister is what collectors need of a client.Reader.
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
