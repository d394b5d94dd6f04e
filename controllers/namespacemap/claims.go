package namespacemap

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field"
)

// waitForClaims makes a remote namespace wait until its claims are gone, and the provider's cache show them. emptied
// is from before the claims were listed: the last one may be gone since.
func waitForClaims(ctx context.Context, a *executor, d namespacemap.Delete, holds string, emptied uint64) {
	a.backOff(d.Namespace, d.RemoteNamespace, namespacemap.Outcome{Phase: v1alpha1.MappingTerminating, Reason: v1alpha1.ReasonVolumesRemain, Message: holds})
	if _, err := informer.Need(ctx, a.provider.GetCache(), &corev1.PersistentVolumeClaim{}, a.Reconciler, nil); err != nil {
		a.failed(fmt.Errorf("watching the claims of provider %s: %w", a.binding.Spec.ClusterID, err))
	}
	if a.emptied.Load() != emptied {
		a.outcomes.settled(d.RemoteNamespace)
		a.retrySoon()
	}
}

// followClaims calls changed when the last claim that holds data is gone from a remote namespace that waits for that.
func followClaims(ctx context.Context, r *Reconciler, provider cluster.Cluster, changed func()) error {
	return informer.Watch(ctx, provider.GetCache(), &corev1.PersistentVolumeClaim{}, func(e informer.Change) {
		if e.After != nil || !holds(e.Before) {
			return
		}
		var left corev1.PersistentVolumeClaimList
		if err := provider.GetCache().List(ctx, &left, client.InNamespace(e.Before.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil { // It is ending.
			log.FromContext(ctx).Error(err, "a change is lost")
			return
		}
		if slices.ContainsFunc(left.Items, func(claim corev1.PersistentVolumeClaim) bool { return holds(&claim) }) {
			return
		}
		r.emptied.Add(1)
		if settled(r, e.Before.GetNamespace()) {
			changed()
		}
	})
}

// settled makes the next attempt due for remote namespaces of that name that wait for volumes, mount namespaces too, and
// reports whether there are any.
func settled(r *Reconciler, remote string) bool {
	entry, mount := r.outcomes.settled(remote), r.mounts.settled(remote)
	return entry || mount
}

// holds reports whether a claim in a provider holds data.
func holds(obj client.Object) bool {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	return ok && claim.Spec.VolumeName != "" && field.HoldsData(claim)
}
