package namespacemap

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mchandler "sigs.k8s.io/multicluster-runtime/pkg/handler"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// workers exceeds the number of providers. Each provider has one key, so a provider that does not answer blocks
// one worker, which nobody else needs. A waiting worker costs a few kilobytes.
const workers = 256

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr mcmanager.Manager) error {
	r.outcomes, r.mounts = newOutcomes(firstRetry, mostRetry, r.Clock), newOutcomes(firstMountRetry, mostMountRetry, r.Clock)
	engage := []mcbuilder.EngageOptions{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	c, err := mcbuilder.ControllerManagedBy(mgr).
		Named("namespacemap").
		For(&v1alpha1.NamespaceMap{}, engage[0], engage[1], mcbuilder.WithPredicates(trigger.NotOurs(&r.written))).
		Watches(&v1alpha1.ClusterBinding{}, mchandler.Lift(&handler.EnqueueRequestForObject{}), engage[0], engage[1],
			mcbuilder.WithPredicates(predicate.Or(trigger.Reach(), empties()))).
		WatchesMetadata(&corev1.Namespace{}, mchandler.Lift(handler.EnqueueRequestsFromMapFunc(mapsNaming(r.Client))), engage[0], engage[1],
			mcbuilder.WithPredicates(predicate.Funcs{UpdateFunc: trigger.MadeAgain})).
		Watches(&corev1.Namespace{}, trigger.ToBinding,
			mcbuilder.WithEngageWithLocalCluster(false), mcbuilder.WithEngageWithProviderClusters(true),
			mcbuilder.WithPredicates(remoteChanges())).
		WatchesRawSource(shard.Source(r.Owner, trigger.NamedLocally)).
		WithOptions(trigger.Options[mcreconcile.Request](mgr.GetLocalManager(), workers)).
		Build(r)
	if err != nil {
		return err
	}
	return c.MultiClusterWatch(trigger.OnEngage{})
}

// empties passes the event that the deletion of a binding has reached the remote namespaces. For some of them,
// the map may have no entry left to remove.
func empties() predicate.Predicate {
	return trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool {
		return drain.ReachedNamespaces(before) != drain.ReachedNamespaces(after)
	})
}

// mapsNaming returns the maps that ask for a local namespace that was created or deleted.
func mapsNaming(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, namespace client.Object) []reconcile.Request {
		return trigger.Matching(ctx, cache, &v1alpha1.NamespaceMapList{}, func(nsm *v1alpha1.NamespaceMap) bool {
			return namespacemap.FindDesired(nsm.Spec.DesiredMapping, namespace.GetName()) != nil
		})
	}
}

// remoteChanges passes what matters about a remote namespace: its existence, its owner, its deletion, and what
// delays its deletion.
func remoteChanges() predicate.Predicate {
	return trigger.Updated(func(before, after *corev1.Namespace) bool {
		return mark(before) != mark(after) || namespacemap.DeletionBlocker(before) != namespacemap.DeletionBlocker(after)
	})
}

type marked struct {
	uid                        types.UID
	managedBy, origin, binding string
	localNamespace, localUID   string
	terminating                bool
}

func mark(obj metav1.Object) marked {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	return marked{
		uid:            obj.GetUID(),
		managedBy:      labels[v1alpha1.LabelManagedBy],
		origin:         labels[v1alpha1.LabelOrigin],
		binding:        labels[v1alpha1.LabelBinding],
		localNamespace: annotations[v1alpha1.AnnotationLocalNamespace],
		localUID:       annotations[v1alpha1.AnnotationLocalUID],
		terminating:    obj.GetDeletionTimestamp() != nil,
	}
}
