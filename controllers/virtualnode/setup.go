package virtualnode

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
	mcsource "sigs.k8s.io/multicluster-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// SetupWithManager adds the controller, the renewal of the leases, and the end of the nodes' address, to the
// manager.
func (r *Reconciler) SetupWithManager(mgr mcmanager.Manager, leases *Leases) error {
	onlyLocal, onlyProviders := mcbuilder.WithEngageWithProviderClusters(false), mcbuilder.WithEngageWithLocalCluster(false)
	c, err := mcbuilder.ControllerManagedBy(mgr).
		Named("virtualnode").
		For(&v1alpha1.ClusterBinding{}, mcbuilder.WithEngageWithLocalCluster(true), onlyLocal).
		Watches(&corev1.Node{}, mchandler.Lift(handler.EnqueueRequestForOwner(
			mgr.GetLocalManager().GetScheme(), mgr.GetLocalManager().GetRESTMapper(), &v1alpha1.ClusterBinding{}, handler.OnlyControllerOwner())),
			mcbuilder.WithEngageWithLocalCluster(true), onlyLocal).
		Watches(&v1alpha1.ClusterBinding{}, mchandler.Lift(trigger.SharedWith(r.Client)), mcbuilder.WithEngageWithLocalCluster(true), onlyLocal).
		Watches(&corev1.Node{}, trigger.ToBinding, mcbuilder.WithEngageWithLocalCluster(false), mcbuilder.WithPredicates(offerChanges()), onlyProviders).
		WatchesRawSource(shard.Source(r.Owner, trigger.NamedLocally)).
		WithOptions(trigger.Options[mcreconcile.Request](mgr.GetLocalManager(), 1)).
		Build(r)
	if err != nil {
		return err
	}
	if err := c.MultiClusterWatch(limitChanges{}); err != nil {
		return err
	}
	return errors.Join(mgr.Add(leases), mgr.Add(address{r}))
}

// limitChanges is a source that enqueues the node of a provider when that is engaged,
// and whenever its limits change.
type limitChanges struct{}

var _ mcsource.TypedSource[client.Object, mcreconcile.Request] = limitChanges{}

// ForCluster returns the source for one provider.
func (limitChanges) ForCluster(name multicluster.ClusterName, engaged cluster.Cluster) (source.TypedSource[mcreconcile.Request], bool, error) {
	if name == "" {
		return nil, false, nil // The consumer itself.
	}
	provider, err := fleet.Of(engaged)
	if err != nil {
		return nil, false, err
	}
	return source.TypedFunc[mcreconcile.Request](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error {
		provider.Limits.Follow(func(*field.Limits) { queue.Add(mcreconcile.Request{Request: trigger.Named(string(name))}) })
		return nil
	}), true, nil
}

// offerChanges passes the events that change what a provider offers. Its nodes report
// all the time.
func offerChanges() predicate.Predicate {
	return trigger.Updated(differs)
}
