package syncer

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/ownwrites"
)

// read gets an object of the consumer whole.
func (c *kindController[T]) read(ctx context.Context, seen client.Object) (client.Object, error) {
	whole := c.New()
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(seen), whole); err != nil {
		return nil, err
	}
	if whole.GetUID() != seen.GetUID() { // The cache will show another one of that name.
		return nil, fmt.Errorf("UID %s: %w", seen.GetUID(), apierrors.NewNotFound(schema.GroupResource{Resource: c.resource}, seen.GetName()))
	}
	return whole, nil
}

// answered is a local object as the consumer has answered with it in this pass,
// which is with its content, or as it is seen, if it has changed since.
func answered[T client.Object](seen T, made []decide.Attempt) T {
	for _, before := range slices.Backward(made) {
		whole, ok := before.Answer.(T)
		if ok && before.Side == decide.Local && whole.GetUID() == seen.GetUID() && !ownwrites.Older(whole, seen) {
			return whole
		}
	}
	return seen
}
