package persistentvolumeclaim

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
)

// ToRemote returns the remote claim of local, bound to the remote volume by name. Both
// have local's class, because a claim binds only to a volume of its own class. The class need not exist
// in the provider.
func ToRemote(local *corev1.PersistentVolumeClaim, t field.Target) (*corev1.PersistentVolumeClaim, *field.Problem) {
	if refusal := ClaimRefusal(local); refusal != nil {
		return nil, refusal
	}
	allowed := persistentVolumeClaimPlan.Allowed(&local.Spec)
	remote := &corev1.PersistentVolumeClaim{ObjectMeta: field.Metadata(local, t), Spec: *allowed.DeepCopy()}
	remote.Spec.VolumeName = t.ClusterScopedName(local.Spec.VolumeName)
	remote.Spec.StorageClassName = ptr.To(StorageClass(local))
	return remote, nil
}

// ClaimRefusal says why a claim is not sent, or returns nil.
func ClaimRefusal(local *corev1.PersistentVolumeClaim) *field.Problem {
	if refusal := field.NeverSynced("PersistentVolumeClaim", local); refusal != nil {
		return refusal
	}
	if refusal := RefuseUnbound(local); refusal != nil {
		return refusal
	}
	return quantityRefusal(local)
}

func quantityRefusal(local *corev1.PersistentVolumeClaim) *field.Problem {
	if name := field.UnboundedRequirement(&corev1.ResourceRequirements{Limits: local.Spec.Resources.Limits, Requests: local.Spec.Resources.Requests}); name != "" {
		return field.QuantityRefusal("PersistentVolumeClaim " + local.Name + ": spec.resources." + name)
	}
	return nil
}

// RefuseUnbound refuses a claim that has no volume, or has lost its volume.
func RefuseUnbound(claim *corev1.PersistentVolumeClaim) *field.Problem {
	if claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName != "" {
		return nil
	}
	return NotBound(claim)
}

// NotBound refuses a claim that has no volume. It needs only the claim's metadata.
func NotBound(claim metav1.Object) *field.Problem {
	return field.Refuse(field.ReasonClaimNotBound, "PersistentVolumeClaim %s is not bound to a volume yet", claim.GetName())
}

// StorageClass returns the class of a claim. The legacy annotation takes precedence.
func StorageClass(claim *corev1.PersistentVolumeClaim) string {
	if class, there := claim.Annotations[corev1.BetaStorageClassAnnotation]; there {
		return class
	}
	return ptr.Deref(claim.Spec.StorageClassName, "")
}
