package consumer

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// Exists reads an object from a cache, and reports whether it exists. Callers must not change the object.
func Exists(ctx context.Context, cache client.Reader, key client.ObjectKey, object client.Object) (bool, error) {
	err := cache.Get(ctx, key, object, client.UnsafeDisableDeepCopy)
	return err == nil, client.IgnoreNotFound(err)
}

// Bindings returns an index of all ClusterBindings in a cache, for one pass. They are shared, and callers
// must not change them.
func Bindings(ctx context.Context, cache client.Reader) (placement.Index, error) {
	all, err := informer.All(ctx, cache, &v1alpha1.ClusterBinding{}, &v1alpha1.ClusterBindingList{})
	if err != nil {
		return placement.Index{}, fmt.Errorf("listing ClusterBindings: %w", err)
	}
	return placement.IndexOf(all), nil
}
