package volume

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// unclaimed says that the provider's claim has a volume, and that nothing in the consumer decides what becomes of it.
// It returns nil otherwise. The owner of a claim that has lost its volume is told elsewhere.
func (s snapshot) unclaimed(of decide.Key) *field.Problem {
	if s.volume != nil || s.unlabelled != nil || s.remote == nil || s.remote.Spec.VolumeName == "" || !s.remote.DeletionTimestamp.IsZero() || s.remote.Annotations[v1alpha1.AnnotationKeptFor] != "" {
		return nil
	}
	name, why := nameOf(s.clusterID, of.UID), "is gone, or has another volume" // Without its label, the view does not show it.
	if s.claim != nil {
		if s.claim.Spec.VolumeName == "" || s.claim.Spec.VolumeName == name {
			return nil
		}
		why = "has another volume"
	}
	return field.Refuse(v1alpha1.ReasonVolumeUnclaimed, "claim %s in provider %s has a volume that nothing in the consumer stands for: PersistentVolumeClaim %s %s, and there is no PersistentVolume %s; "+
		"Spillway keeps it; if its data is not needed, ask the provider's administrator to delete the claim", decide.KeyOf(s.remote), s.clusterID, of.NamespacedName, why, name)
}

// report creates an event on the ClusterBinding about a provider's claim that nothing in the consumer stands for, and
// returns when to repeat it: API servers keep events for an hour.
func (r *reconciler) report(ctx context.Context, key decide.Key, problem *field.Problem) (time.Duration, error) {
	if problem == nil {
		delete(r.unclaimed, key)
		return 0, nil
	}
	if last, told := r.unclaimed[key]; told {
		if wait := attempts.RepeatEvent - r.clock.Since(last); wait > 0 {
			return wait, nil
		}
	}
	if claimed, err := r.claimed(ctx, key); err != nil || claimed {
		return 0, err
	}
	r.unclaimed[key] = r.clock.Now()
	about := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: key.UID}} // So that events about several claims stay apart.
	r.events.Eventf(r.Binding, about, corev1.EventTypeWarning, problem.Reason, "Offload", "%s", conditions.Note(problem.Message))
	return attempts.RepeatEvent, nil
}

// claimed reports whether the consumer has the claim, and it may get the provider's volume, or whether it has a volume
// that stands for the provider's. The caches show only objects with a label, so the API server is asked.
func (r *reconciler) claimed(ctx context.Context, key decide.Key) (bool, error) {
	name, claim, volume := nameOf(r.Mark.ClusterID, key.UID), &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := r.live.Get(ctx, key.NamespacedName, claim); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("getting PersistentVolumeClaim %s: %w", key.NamespacedName, err)
	} else if err == nil && claim.UID == key.UID && (claim.Spec.VolumeName == "" || claim.Spec.VolumeName == name) {
		return true, nil
	}
	err := r.live.Get(ctx, client.ObjectKey{Name: name}, volume)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("getting PersistentVolume %s: %w", name, err)
	}
	return !apierrors.IsNotFound(err), nil
}
