package trigger

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// SharedWith leads from a ClusterBinding to those of the same provider, or of one that says so, if what it
// takes of that may have changed: its spec, which provider it is, and its end.
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
