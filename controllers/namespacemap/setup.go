package namespacemap

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/drain"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/shard"
	"github.com/spillway-io/spillway/internal/trigger"
)

// workers exceeds the number of providers. Each provider has one key, so a provider that does not answer blocks
// one worker, which nobody else needs. A waiting worker costs a few kilobytes.
const workers = 256

// SetupWithManager adds the controller to the consumer's manager. all engages it with the providers.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, all mcmanager.Manager) error {
	r.outcomes, r.mounts = newOutcomes(firstRetry, mostRetry, r.Clock), newOutcomes(firstMountRetry, mostMountRetry, r.Clock)
	providers := &trigger.Providers{Watch: func(ctx context.Context, provider cluster.Cluster, changed func()) error {
		return errors.Join(trigger.Changes(ctx, provider, &corev1.Namespace{}, remoteChanges, changed), followClaims(ctx, r, provider, changed), followFence(ctx, provider, changed))
	}}
	return errors.Join(all.Add(providers), ctrl.NewControllerManagedBy(mgr).
		Named("namespacemap").
		For(&v1alpha1.NamespaceMap{}, builder.WithPredicates(trigger.NotOurs(&r.written))).
		Watches(&v1alpha1.ClusterBinding{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(predicate.Or(trigger.Reach(), empties()))).
		Watches(&v1alpha1.NamespaceOffloading{}, handler.EnqueueRequestsFromMapFunc(mapsWith(r.Client)), builder.WithPredicates(
			trigger.OnlyUpdated(func(before, after *v1alpha1.NamespaceOffloading) bool {
				return namespacemap.LosesVolumes(before) != namespacemap.LosesVolumes(after)
			}))).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(mapsNaming(r.Client)),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: trigger.MadeAgain})).
		WatchesRawSource(providers.Source()).
		WatchesRawSource(shard.Source(r.Owner, trigger.Named)).
		WithOptions(trigger.Options[reconcile.Request](mgr, workers)).
		Complete(r))
}

// followFence calls changed when the Lease in a provider is renewed after it had expired: nothing could be written, and
// the back-off has grown meanwhile.
func followFence(ctx context.Context, engaged cluster.Cluster, changed func()) error {
	provider, err := fleet.Of(engaged)
	if err == nil {
		provider.Reopened(ctx, changed)
	}
	return err
}

// empties passes the event that the deletion of a binding has reached the remote namespaces, or may lose the
// volumes in them. For some of them, the map may have no entry left to remove.
func empties() predicate.Predicate {
	return trigger.OnlyUpdated(func(before, after *v1alpha1.ClusterBinding) bool {
		return drain.ReachedNamespaces(before) != drain.ReachedNamespaces(after) || namespacemap.LosesVolumes(before) != namespacemap.LosesVolumes(after)
	})
}

// mapsWith returns the maps that have, or had, a remote namespace for an offloading.
func mapsWith(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, nso client.Object) []reconcile.Request {
		return trigger.Matching(ctx, cache, &v1alpha1.NamespaceMap{}, &v1alpha1.NamespaceMapList{}, func(nsm *v1alpha1.NamespaceMap) bool {
			return namespacemap.FindCurrent(nsm.Status.CurrentMapping, nso.GetNamespace()) != nil
		})
	}
}

// mapsNaming returns the maps that ask for a local namespace that was created or deleted.
func mapsNaming(cache client.Reader) handler.MapFunc {
	return func(ctx context.Context, namespace client.Object) []reconcile.Request {
		return trigger.Matching(ctx, cache, &v1alpha1.NamespaceMap{}, &v1alpha1.NamespaceMapList{}, func(nsm *v1alpha1.NamespaceMap) bool {
			return namespacemap.FindDesired(nsm.Spec.DesiredMapping, namespace.GetName()) != nil
		})
	}
}

// remoteChanges reports what matters about a remote namespace: its existence, its owner, its deletion, and what
// delays its deletion.
func remoteChanges(before, after *corev1.Namespace) bool {
	return mark(before) != mark(after) || namespacemap.DeletionBlocker(before) != namespacemap.DeletionBlocker(after)
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
