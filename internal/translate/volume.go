package translate

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
)

// PersistentVolumeClaim returns the remote claim of local, bound to the remote volume by name. Both
// have local's class, because a claim binds only to a volume of its own class. The class need not exist
// in the provider.
func PersistentVolumeClaim(local *corev1.PersistentVolumeClaim, t Target) (*corev1.PersistentVolumeClaim, *field.Problem) {
	if refusal := ClaimRefusal(local); refusal != nil {
		return nil, refusal
	}
	allowed := persistentVolumeClaimPlan.allowed(&local.Spec)
	remote := &corev1.PersistentVolumeClaim{ObjectMeta: Metadata(local, t), Spec: *allowed.DeepCopy()}
	remote.Spec.VolumeName = t.ClusterScopedName(local.Spec.VolumeName)
	remote.Spec.StorageClassName = ptr.To(storageClass(local))
	return remote, nil
}

// ClaimRefusal says why a claim is not sent, or returns nil.
func ClaimRefusal(local *corev1.PersistentVolumeClaim) *field.Problem {
	if refusal := neverSynced("PersistentVolumeClaim", local); refusal != nil {
		return refusal
	}
	if refusal := notBound(local); refusal != nil {
		return refusal
	}
	if name := unboundedRequirement(&corev1.ResourceRequirements{Limits: local.Spec.Resources.Limits, Requests: local.Spec.Resources.Requests}); name != "" {
		return quantityRefusal("PersistentVolumeClaim " + local.Name + ": spec.resources." + name)
	}
	return nil
}

// PersistentVolume returns the remote volume of local, which is bound to claim. The remote volume is
// reserved for the remote claim. Its reclaim policy is always Retain, because the volume is the
// consumer's. The volume may name Secrets in any namespace. of returns the Target of a local namespace.
func PersistentVolume(local *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, t Target, of func(namespace string) Target) (*corev1.PersistentVolume, *field.Problem) {
	if refusal := VolumeRefusal(local, claim); refusal != nil {
		return nil, refusal
	}
	return remoteVolume(local, claim, t, of), nil
}

// VolumeRefusal says why a volume that is bound to claim is not sent, or returns nil.
func VolumeRefusal(local *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) *field.Problem {
	if refusal := neverSynced("PersistentVolume", local); refusal != nil {
		return refusal
	}
	if refusal := notBound(claim); refusal != nil {
		return refusal
	}
	if !isBoundTo(local, claim) {
		return field.Refuse(ReasonClaimNotBound, "PersistentVolume %s is not bound to PersistentVolumeClaim %s", local.Name, claim.Name)
	}
	if found := persistentVolumeSourcePlan.violation(&local.Spec.PersistentVolumeSource, PodSecurityBaseline); found != nil {
		return found.refusal("PersistentVolume " + local.Name + ": spec")
	}
	if csi := local.Spec.CSI; csi != nil {
		if key := secretAttribute(csi.VolumeAttributes); key != "" {
			return field.Refuse(ReasonCredentials, "PersistentVolume %s: spec.csi.volumeAttributes[%s] is set: the driver would use a Secret of the provider", local.Name, key)
		}
	}
	if isTiedToNode(local.Spec.NodeAffinity) {
		return field.Refuse(ReasonVolumeNotPortable, "PersistentVolume %s: spec.nodeAffinity ties it to a node of the consumer by its name", local.Name)
	}
	if name := unbounded(local.Spec.Capacity); name != "" {
		return quantityRefusal("PersistentVolume " + local.Name + ": spec.capacity." + name)
	}
	return nil
}

func remoteVolume(local *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, t Target, of func(string) Target) *corev1.PersistentVolume {
	allowed := persistentVolumePlan.allowed(&local.Spec)
	allowed.PersistentVolumeSource = persistentVolumeSourcePlan.allowed(&local.Spec.PersistentVolumeSource)
	remote := &corev1.PersistentVolume{ObjectMeta: Metadata(local, t), Spec: *allowed.DeepCopy()}
	remote.Spec.ClaimRef = &corev1.ObjectReference{
		APIVersion: "v1", Kind: "PersistentVolumeClaim",
		Namespace: t.Namespace, Name: t.Name(claim.Namespace, claim.Name),
	}
	remote.Spec.StorageClassName = storageClass(claim)
	remote.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	for _, ref := range volumeSecretPlaces(&remote.Spec.PersistentVolumeSource) {
		there := of(ref.Namespace)
		ref.Namespace, ref.Name = there.Namespace, there.Name(ref.Namespace, ref.Name)
	}
	return remote
}

// VolumeSecrets returns the Secrets that a volume names, sorted, each once.
func VolumeSecrets(pv *corev1.PersistentVolume) []types.NamespacedName {
	var names []types.NamespacedName
	for _, ref := range volumeSecretPlaces(&pv.Spec.PersistentVolumeSource) {
		names = append(names, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(names)
}

// volumeSecretPlaces returns the fields of a volume that name Secrets. It skips references without a
// name or a namespace.
func volumeSecretPlaces(source *corev1.PersistentVolumeSource) []*corev1.SecretReference {
	var refs []*corev1.SecretReference
	if csi := source.CSI; csi != nil {
		refs = append(refs, csi.ControllerPublishSecretRef, csi.NodeStageSecretRef, csi.NodePublishSecretRef,
			csi.ControllerExpandSecretRef, csi.NodeExpandSecretRef)
	}
	if source.ISCSI != nil {
		refs = append(refs, source.ISCSI.SecretRef)
	}
	return slices.DeleteFunc(refs, func(r *corev1.SecretReference) bool { return r == nil || r.Name == "" || r.Namespace == "" })
}

// notBound refuses a claim that has no volume, or has lost its volume.
func notBound(claim *corev1.PersistentVolumeClaim) *field.Problem {
	if claim.Status.Phase == corev1.ClaimBound && claim.Spec.VolumeName != "" {
		return nil
	}
	return NotBound(claim)
}

// Annotations by which Kubernetes records the state of a claim: that it is bound, and for which node
// the scheduler wants its volume.
const (
	AnnotationBindCompleted = "pv.kubernetes.io/bind-completed"
	AnnotationSelectedNode  = "volume.kubernetes.io/selected-node"
)

// NotBound refuses a claim that has no volume. It needs only the claim's metadata.
func NotBound(claim metav1.Object) *field.Problem {
	return field.Refuse(ReasonClaimNotBound, "PersistentVolumeClaim %s is not bound to a volume yet", claim.GetName())
}

// isBoundTo reports whether the volume is bound to the claim, too. Anybody can write the name of a
// volume into a claim.
func isBoundTo(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := pv.Spec.ClaimRef
	return claim.Spec.VolumeName == pv.Name && ref != nil &&
		ref.Namespace == claim.Namespace && ref.Name == claim.Name && ref.UID == claim.UID
}

// storageClass returns the class of a claim. The legacy annotation takes precedence.
func storageClass(claim *corev1.PersistentVolumeClaim) string {
	if class, there := claim.Annotations[corev1.BetaStorageClassAnnotation]; there {
		return class
	}
	return ptr.Deref(claim.Spec.StorageClassName, "")
}

// isTiedToNode reports whether only nodes with certain names can reach a volume. The provider has no
// node of that name, or another one.
func isTiedToNode(affinity *corev1.VolumeNodeAffinity) bool {
	if affinity == nil || affinity.Required == nil {
		return false
	}
	return slices.ContainsFunc(affinity.Required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return len(term.MatchFields) > 0 || slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == corev1.LabelHostname
		})
	})
}
