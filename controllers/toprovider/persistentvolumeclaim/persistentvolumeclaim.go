// Package persistentvolumeclaim sends the PersistentVolumeClaims that offloaded pods need, once they are bound. It
// also sends claims whose volumes the provider shall create (provided.go). Package fromprovider/volume shows
// their volumes in the consumer.
package persistentvolumeclaim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;patch

// Kind is the kind of PersistentVolumeClaims.
func Kind() kind.Kind[*corev1.PersistentVolumeClaim] {
	claims := kind.NewCopy[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList]("persistentvolumeclaim", kind.Referenced, translation{})
	claims.Needs, claims.Alone, claims.Holds = needs, IsProvidedBy, field.HoldsData
	return claims
}

// needs is the volume that a claim is bound to, unless the volume is in a provider.
func needs(claim *corev1.PersistentVolumeClaim) []decide.Ref {
	if claim.Spec.VolumeName == "" || claim.Status.Phase != corev1.ClaimBound || isInProvider(claim) || isOfAnother(claim) {
		return nil
	}
	return []decide.Ref{{Key: decide.Key{Kind: "persistentvolume", NamespacedName: types.NamespacedName{Name: claim.Spec.VolumeName}}}}
}

type translation struct{ kind.Namespaced }

// Remote implements decide.Translation.
func (translation) Remote(local *corev1.PersistentVolumeClaim, t field.Target, around decide.Inputs) (*corev1.PersistentVolumeClaim, *field.Problem) {
	switch {
	case local.Spec.VolumeName == volumeOf(provenance.Local{UID: local.UID}, around):
		return nil, lost(local)
	case isInProvider(local):
		return nil, field.Refuse(field.ReasonVolumeNotPortable, "PersistentVolumeClaim %s: its volume is in another provider", local.Name)
	case isOfAnother(local):
		return nil, field.Refuse(field.ReasonVolumeNotPortable, "PersistentVolumeClaim %s: PersistentVolume %s has the data of an earlier claim in a provider, and Spillway gives it to no other claim; "+
			"the provider's administrator can copy it, from the claim with the annotation %s=%[2]s", local.Name, local.Spec.VolumeName, v1alpha1.AnnotationKeptFor)
	case around.Provides && local.Spec.VolumeName == "" && IsProvidedBy(local, around.Node):
		if refusal := unusable(local, around); refusal != nil {
			return nil, refusal
		}
		return providedClaim(local, t, around)
	default:
		return ToRemote(local, t)
	}
}

// Merge implements decide.Translation. Only the request of a bound claim can be changed. Merge keeps it: the
// consumer's storage driver expands the volume, whose capacity is sent. A changed request would make the
// provider expand it, too.
func (translation) Merge(desired, remote *corev1.PersistentVolumeClaim) (*corev1.PersistentVolumeClaim, bool) {
	return field.Merged(desired, remote), false
}
