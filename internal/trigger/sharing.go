package trigger

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// SharedWith enqueues the other ClusterBindings whose providers claim the same identity. It does so when a
// binding is created or deleted, or when its spec or its provider's identity changes.
func SharedWith(cache client.Reader) handler.EventHandler {
	return OnChange(func(ctx context.Context, before, after *v1alpha1.ClusterBinding) []reconcile.Request {
		if before != nil && after != nil && before.Generation == after.Generation && !placement.Identified(before, after) &&
			before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero() {
			return nil
		}
		return Bindings(ctx, cache, func(other *v1alpha1.ClusterBinding) bool {
			return before != nil && placement.SameIdentity(before, other) || after != nil && placement.SameIdentity(after, other)
		})
	})
}
