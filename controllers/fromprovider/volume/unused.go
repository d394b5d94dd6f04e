package volume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// unused reports whether the claim is not bound, and waits for a volume of another provider. The scheduler has changed
// its mind just before the volume was created. Kubernetes may try to bind the claim to this volume first, again and
// again, and the policy spillway-manager-objects refuses that. No pod has used the volume.
func (s snapshot) unused() bool {
	if !isFree(s) {
		return false
	}
	asked := persistentvolumeclaim.AskedNode(s.claim)
	return asked != "" && v1alpha1.ClusterIDOf(asked) != s.clusterID
}

// isElsewhere reports whether Kubernetes has bound the claim to another volume, and this one is of no use any more. A claim
// never changes its volume, so no pod has used this one. With the policy Retain, Kubernetes takes the UID out of the
// volume's claimRef, and would bind a later claim of that name to it, which could not use it. With Delete, Kubernetes
// releases the volume. Then the provider's claim goes with the consumer's, if it has a volume, and this one says so.
func (s snapshot) isElsewhere() bool {
	claim := s.claim
	if claim == nil || claim.Annotations[field.AnnotationBindCompleted] == "" || claim.Spec.VolumeName == "" || claim.Spec.VolumeName == s.volume.Name {
		return false
	}
	return s.remote == nil || s.remote.Spec.VolumeName == "" || s.volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete
}

// isFree reports whether the volume is for the claim, and the claim is not bound to any.
func isFree(s snapshot) bool {
	claim, ref := s.claim, s.volume.Spec.ClaimRef
	return claim != nil && claim.DeletionTimestamp.IsZero() && claim.Spec.VolumeName == "" && ref != nil && ref.UID == claim.UID
}

// stuck says why a claim waits for ever, or returns nil. Kubernetes does not delete a volume while its phase is Bound,
// and binds no claim to a volume that is being deleted. That happens if the scheduler comes back to this provider.
func stuck(s snapshot) *field.Problem {
	if s.volume.DeletionTimestamp.IsZero() || s.volume.Status.Phase != corev1.VolumeBound || !isFree(s) {
		return nil
	}
	return field.Refuse(v1alpha1.ReasonVolumeLost, "PersistentVolume %s is being deleted, and PersistentVolumeClaim %s cannot be bound to it; delete the PersistentVolumeClaim to start anew", s.volume.Name, s.claim.Name)
}

// withdrawal deletes a volume that the claim does not use. Then nothing stands for the provider's claim, and what
// becomes of that follows from its having a volume.
func (s snapshot) withdrawal() plan {
	p := plan{delete: s.volume}
	if !s.volume.DeletionTimestamp.IsZero() {
		p = s.withoutFinalizer()
	}
	if p.delete != nil || p.after != nil {
		p.confirms = s.claim
	}
	return p
}

// keyIn returns a key with the name of the claim, if the key or the volume has it. Kubernetes takes only the UID out of a
// claimRef.
func keyIn(volume *corev1.PersistentVolume, key decide.Key) decide.Key {
	if ref := volume.Spec.ClaimRef; key.Name == "" && ref != nil {
		key.NamespacedName = types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	}
	return key
}

// claimOf reads a claim without a cache, or returns nil if there is none with that UID, or its name is not known.
func claimOf(ctx context.Context, live client.Reader, key decide.Key) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if key.Name == "" {
		return nil, nil
	}
	if err := live.Get(ctx, key.NamespacedName, claim); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting PersistentVolumeClaim %s: %w", key.NamespacedName, err)
	}
	if claim.UID != key.UID {
		return nil, nil
	}
	return claim, nil
}

// isCurrent reports whether the consumer's API server has a claim as it was read.
func isCurrent(ctx context.Context, live client.Reader, seen *corev1.PersistentVolumeClaim) (bool, error) {
	now, err := claimOf(ctx, live, keyOf(seen))
	return now != nil && now.ResourceVersion == seen.ResourceVersion, err
}
