package virtualnode

import (
	"context"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/inventory"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller to the consumer's manager. To all, which engages what it has with the
// providers, it adds what enqueues their nodes, the renewal of the leases, and the end of the nodes' address.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, all mcmanager.Manager) error {
	providers := &trigger.Providers{Watch: r.watchOffer}
	return errors.Join(all.Add(providers), all.Add(r.Leases), all.Add(address{r}), ctrl.NewControllerManagedBy(mgr).
		Named("virtualnode").
		For(&v1alpha1.ClusterBinding{}).
		Owns(&corev1.Node{}).
		Watches(&v1alpha1.ClusterBinding{}, trigger.SharedWith(r.Client)).
		WatchesRawSource(providers.Source()).
		WatchesRawSource(shard.Source(r.Owner, trigger.Named)).
		WatchesRawSource(inventory.Source(r.Inventory, inventory.Settle, r.ofPods)).
		WatchesRawSource(inventory.ProblemSource(r.Inventory, ofProblem(r.Client))).
		WithOptions(trigger.Options[reconcile.Request](mgr, 1)).
		Complete(r))
}

// watchOffer follows what a provider offers: its nodes, which report all the time, whether they can be read, its limits, and
// what other pods leave.
func (r *Reconciler) watchOffer(ctx context.Context, engaged cluster.Cluster, changed func()) error {
	provider, err := fleet.Of(engaged)
	if err != nil {
		return err
	}
	provider.Limits.Follow(func(*field.Limits) { changed() })
	provider.Foreign.Follow(ctx, func(*connection.Foreign) { changed() })
	// Nodes that can be read again are in the cache a moment before the right counts. A short refusal is on no condition, whose
	// change would enqueue the binding.
	provider.Rights.Follow(ctx, changed)
	return trigger.Changes(ctx, provider, &corev1.Node{}, func(before, after *corev1.Node) bool {
		return differs(before, after) || !maps.Equal(before.Labels, after.Labels) && groupsNodes(ctx, r.Client, provider.ClusterID)
	}, changed)
}

// groupsNodes reports whether a binding of a provider groups its nodes, by whichever labels.
func groupsNodes(ctx context.Context, bound client.Reader, clusterID string) bool {
	var bindings v1alpha1.ClusterBindingList
	err := bound.List(ctx, &bindings, client.UnsafeDisableDeepCopy)
	return err != nil || slices.ContainsFunc(bindings.Items, func(b v1alpha1.ClusterBinding) bool {
		return b.Spec.ClusterID == clusterID && len(b.Spec.VirtualNode.GroupBy) > 0
	})
}
