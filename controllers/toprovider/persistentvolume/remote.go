package persistentvolume

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// toRemote returns the remote volume of local, which is bound to claim. The remote volume is
// reserved for the remote claim. Its reclaim policy is always Retain, because the volume is the
// consumer's.
func toRemote(local *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, t field.Target, around decide.Inputs) (*corev1.PersistentVolume, *field.Problem) {
	if refusal := VolumeRefusal(local, claim); refusal != nil {
		return nil, refusal
	}
	remote := remoteVolume(local, claim, t)
	return remote, nameSecrets(remote, local.Name, around)
}

// nameSecrets sets the Secrets in a remote volume, or says why it may not name one. Secrets that go to the remote
// namespace of the claim have the names of their copies there. Others must be the provider's own, in one of its
// namespaces for the Secrets of CSI drivers: no copy of the consumer's is used for them. In other namespaces, a driver
// would read any Secret of the provider for the volume. The provider's policy has the same rule.
func nameSecrets(remote *corev1.PersistentVolume, local string, around decide.Inputs) *field.Problem {
	for _, ref := range volumeSecretPlaces(&remote.Spec.PersistentVolumeSource) {
		switch there := around.TargetFor(ref.Namespace); {
		case there.Namespace == remote.Spec.ClaimRef.Namespace:
			ref.Namespace, ref.Name = there.Namespace, there.Name(ref.Namespace, ref.Name)
		case remote.Spec.CSI == nil:
			return field.Refuse(field.ReasonSecretNotAllowed, "PersistentVolume %s names Secret %s/%s, which is not in the namespace of its claim", local, ref.Namespace, ref.Name)
		case !around.Limits.HasSecretsOfDrivers(ref.Namespace):
			return field.Refuse(field.ReasonSecretNotAllowed, "PersistentVolume %s names Secret %s/%s, which is not in the namespace of its claim, and the provider does not allow volumes to name its own Secrets in namespace %s; "+
				"ask the provider's administrator for it (%s in ConfigMap spillway-provider/limits)", local, ref.Namespace, ref.Name, ref.Namespace, field.LimitCSISecretNamespaces)
		}
	}
	return nil
}

// VolumeRefusal says why a volume that is bound to claim is not sent, or returns nil.
func VolumeRefusal(local *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) *field.Problem {
	if refusal := field.NeverSynced("PersistentVolume", local); refusal != nil {
		return refusal
	}
	if refusal := persistentvolumeclaim.RefuseUnbound(claim); refusal != nil {
		return refusal
	}
	if !isBoundTo(local, claim) {
		return field.Refuse(field.ReasonClaimNotBound, "PersistentVolume %s is not bound to PersistentVolumeClaim %s", local.Name, claim.Name)
	}
	if found := persistentVolumeSourcePlan.Violation(&local.Spec.PersistentVolumeSource, field.PodSecurityBaseline); found != nil {
		return found.Refusal("PersistentVolume " + local.Name + ": spec")
	}
	if csi := local.Spec.CSI; csi != nil {
		if key := field.SecretAttribute(csi.VolumeAttributes); key != "" {
			return field.Refuse(field.ReasonCredentials, "PersistentVolume %s: spec.csi.volumeAttributes[%s] is set: the driver would use a Secret of the provider", local.Name, key)
		}
	}
	if isTiedToNode(local.Spec.NodeAffinity) {
		return field.Refuse(field.ReasonVolumeNotPortable, "PersistentVolume %s: spec.nodeAffinity ties it to a node of the consumer by its name", local.Name)
	}
	if name := field.Unbounded(local.Spec.Capacity); name != "" {
		return field.QuantityRefusal("PersistentVolume " + local.Name + ": spec.capacity." + name)
	}
	return nil
}

func remoteVolume(local *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim, t field.Target) *corev1.PersistentVolume {
	allowed := persistentVolumePlan.Allowed(&local.Spec)
	allowed.PersistentVolumeSource = persistentVolumeSourcePlan.Allowed(&local.Spec.PersistentVolumeSource)
	remote := &corev1.PersistentVolume{ObjectMeta: field.Metadata(local, t), Spec: *allowed.DeepCopy()}
	remote.Spec.ClaimRef = &corev1.ObjectReference{
		APIVersion: "v1", Kind: "PersistentVolumeClaim",
		Namespace: t.Namespace, Name: t.Name(claim.Namespace, claim.Name),
	}
	remote.Spec.StorageClassName = persistentvolumeclaim.StorageClass(claim)
	remote.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	return remote
}

// volumeSecrets returns the Secrets that a volume names, sorted, each once.
func volumeSecrets(pv *corev1.PersistentVolume) []types.NamespacedName {
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

// isBoundTo reports whether the volume is bound to the claim, too. Anybody can write the name of a
// volume into a claim.
func isBoundTo(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) bool {
	ref := pv.Spec.ClaimRef
	return claim.Spec.VolumeName == pv.Name && ref != nil &&
		ref.Namespace == claim.Namespace && ref.Name == claim.Name && ref.UID == claim.UID
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
