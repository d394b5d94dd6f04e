package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// read gets the complete object from the consumer.
func (c *Actor[T]) read(ctx context.Context, seen client.Object) (client.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	whole := c.Kind.New()
	if err := c.Live.Get(ctx, client.ObjectKeyFromObject(seen), whole); err != nil {
		return nil, err
	}
	if whole.GetUID() != seen.GetUID() { // The cache will show another object of that name.
		return nil, fmt.Errorf("UID %s: %w", seen.GetUID(), apierrors.NewNotFound(schema.GroupResource{Resource: c.Kind.Name}, seen.GetName()))
	}
	return whole, nil
}
