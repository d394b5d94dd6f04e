package trigger

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// settle is how long SharedWith waits. Many bindings of one provider that become known at the same time enqueue each
// other, which is then done once.
const settle = time.Second

// SharedWith enqueues the other ClusterBindings whose providers claim the same identity, after a moment. It does so
// when a binding is created or deleted, or when its spec or its provider's identity changes.
func SharedWith(cache client.Reader) handler.EventHandler {
	return OnChangeAfter(settle, func(ctx context.Context, before, after *v1alpha1.ClusterBinding) []reconcile.Request {
		if before != nil && after != nil && before.Generation == after.Generation && !placement.Identified(before, after) &&
			before.DeletionTimestamp.IsZero() == after.DeletionTimestamp.IsZero() {
			return nil
		}
		requests := sharing(ctx, cache, after)
		if before != nil && (after == nil || before.Status.RemoteClusterUID != after.Status.RemoteClusterUID) {
			requests = append(requests, sharing(ctx, cache, before)...)
		}
		return requests
	})
}

// sharing returns requests for the other bindings whose providers claim the identity of a binding's, if any.
func sharing(ctx context.Context, cache client.Reader, binding *v1alpha1.ClusterBinding) []reconcile.Request {
	if binding == nil || binding.Status.RemoteClusterUID == "" {
		return nil
	}
	return Bindings(ctx, cache, func(other *v1alpha1.ClusterBinding) bool {
		return placement.SameIdentity(binding, other)
	})
}
