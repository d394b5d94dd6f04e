package field

import "github.com/spillway-io/spillway/api/v1alpha1"

// Reasons why an object is not sent, or is changed on the way.
const (
	// ReasonStaticPod: the pod is the mirror of a static pod, which a kubelet runs on its own.
	ReasonStaticPod = "StaticPod"
	// ReasonDaemonSetPod: the pod belongs to a DaemonSet, and has no annotation
	// v1alpha1.AnnotationOffloadDaemonSet.
	ReasonDaemonSetPod = "DaemonSetPod"
	// ReasonPodSecurity: the pod asks for more than pod security baseline grants.
	ReasonPodSecurity = "PodSecurity"
	// ReasonResourceClaims: the pod uses ResourceClaims, which the provider's own drivers would have to
	// allocate.
	ReasonResourceClaims = "ResourceClaims"
	// ReasonCredentials: the object is, or asks for, a credential of the consumer.
	ReasonCredentials = "Credentials"
	// ReasonVolumeNotPortable: the volume is tied to the consumer's nodes or cloud.
	ReasonVolumeNotPortable = "VolumeNotPortable"
	// ReasonVolumeNotAllowed: the pod describes a volume inline, but the provider's limits do not allow
	// its type.
	ReasonVolumeNotAllowed = "VolumeNotAllowed"
	// ReasonSecretNotAllowed: the volume names a Secret in a namespace that the provider's limits do not
	// list.
	ReasonSecretNotAllowed = "SecretNotAllowed"
	// ReasonQuantity: a quantity would cost too much to parse when the provider sends it back.
	ReasonQuantity = "QuantityOutOfBounds"
	// ReasonClaimNotBound: the claim has no volume yet.
	ReasonClaimNotBound = "ClaimNotBound"
	// ReasonSyncNever: the object is labelled or annotated spillway.io/sync=never.
	ReasonSyncNever = "SyncNever"
	// ReasonMetadataTooLarge: the labels and annotations of an object that the pod needs take more than
	// MostMetadata.
	ReasonMetadataTooLarge = "MetadataTooLarge"
	// ReasonSelectorNotSent: the NetworkPolicy or PodDisruptionBudget selects pods by a label that pods
	// are sent without.
	ReasonSelectorNotSent = "SelectorNotSent"
	// ReasonPolicyTooLarge: the NetworkPolicy has too many rules, peers and ports to be cached.
	ReasonPolicyTooLarge = "PolicyTooLarge"
	// ReasonPolicyNarrowed: the NetworkPolicy is sent, but the remote policy allows less. Some peers
	// that it names have no counterpart in the provider.
	ReasonPolicyNarrowed = "PolicyNarrowed"
	// ReasonEveryNamespaceHasOne: the ConfigMap is the root certificate. Kubernetes creates one in
	// every namespace, also in the provider.
	ReasonEveryNamespaceHasOne = "EveryNamespaceHasOne"
)

// PodReasons are all reasons of the condition v1alpha1.PodOffloaded with status False.
var PodReasons = []string{
	v1alpha1.ReasonNamespaceNotOffloaded,
	v1alpha1.ReasonNamespaceNotReady,
	v1alpha1.ReasonNameConflict,
	v1alpha1.ReasonNamespaceNeverOffloaded,
	v1alpha1.ReasonProviderAway,
	v1alpha1.ReasonRightsMissing,
	v1alpha1.ReasonClassNotMapped,
	v1alpha1.ReasonClassMissing,
	v1alpha1.ReasonAccountNotAllowed,
	v1alpha1.ReasonConsumerAPIMissing,
	v1alpha1.ReasonConsumerAPIInvalid,
	v1alpha1.ReasonTokenForbidden,
	v1alpha1.ReasonTokenRefused,
	v1alpha1.ReasonServiceAccountNotFound,
	v1alpha1.ReasonDeletionFailed,
	v1alpha1.ReasonReferenceNotFound,
	v1alpha1.ReasonReferenceNotSynced,
	v1alpha1.ReasonNetworkPolicyPending,
	v1alpha1.ReasonRejected,
	v1alpha1.ReasonUnschedulable,
	v1alpha1.ReasonTooBig,
	v1alpha1.ReasonNoNewNode,
	v1alpha1.ReasonUpdateRejected,
	v1alpha1.ReasonServerError,
	v1alpha1.ReasonOverBudget,
	v1alpha1.ReasonQuotaExceeded,
	v1alpha1.ReasonStatusRejected,
	v1alpha1.ReasonReplacing,
	v1alpha1.ReasonEndedTooSoon,
	v1alpha1.ReasonRemotePodDeleted,
	v1alpha1.ReasonNodeLost,
	ReasonStaticPod,
	ReasonDaemonSetPod,
	ReasonPodSecurity,
	ReasonResourceClaims,
	ReasonCredentials,
	ReasonVolumeNotPortable,
	ReasonVolumeNotAllowed,
	ReasonSecretNotAllowed,
	ReasonQuantity,
	v1alpha1.ReasonLimitsMissing,
	v1alpha1.ReasonLimitsInvalid,
	v1alpha1.ReasonLimitsForbidden,
	ReasonClaimNotBound,
	v1alpha1.ReasonDataSourceNotSent,
	v1alpha1.ReasonStorageNotAllowed,
	v1alpha1.ReasonVolumeLost,
	ReasonSyncNever,
	ReasonMetadataTooLarge,
}
