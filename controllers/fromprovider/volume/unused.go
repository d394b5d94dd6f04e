package volume

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

// unused reports whether the claim is not bound to the volume, and waits for a volume of another provider, or has
// one. The scheduler has changed its mind just before the volume was created. Kubernetes may try to bind the claim to
// this volume first, again and again, and the policy spillway-manager-objects refuses that. A claim never changes its
// volume, so no pod has used this one.
func (s snapshot) unused() bool {
	claim, ref := s.claim, s.volume.Spec.ClaimRef
	switch {
	case claim == nil || ref == nil || ref.UID != claim.UID: // The policy lets the manager delete no other.
		return false
	case claim.Spec.VolumeName != "":
		return claim.Spec.VolumeName != s.volume.Name
	default:
		asked := persistentvolumeclaim.AskedNode(claim)
		return claim.DeletionTimestamp.IsZero() && asked != "" && asked != v1alpha1.VirtualNodePrefix+s.clusterID
	}
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
