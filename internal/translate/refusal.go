package translate

// Why an object is not sent.
const (
	// ReasonStaticPod: the pod is the mirror of one that a kubelet runs on its own.
	ReasonStaticPod = "StaticPod"
	// ReasonDaemonSetPod: the pod is one of a DaemonSet, and not annotated with
	// v1alpha1.AnnotationOffloadDaemonSet.
	ReasonDaemonSetPod = "DaemonSetPod"
	// ReasonPodSecurity: the pod asks for more than pod security baseline grants.
	ReasonPodSecurity = "PodSecurity"
	// ReasonResourceClaims: the pod uses ResourceClaims, which the provider's
	// own drivers would have to allocate.
	ReasonResourceClaims = "ResourceClaims"
	// ReasonCredentials: the object is, or asks for, a credential of the consumer.
	ReasonCredentials = "Credentials"
	// ReasonVolumeNotPortable: the volume is tied to the consumer's nodes or cloud.
	ReasonVolumeNotPortable = "VolumeNotPortable"
	// ReasonVolumeNotAllowed: the pod describes a volume inline, of a type that the
	// provider's limits do not allow.
	ReasonVolumeNotAllowed = "VolumeNotAllowed"
	// ReasonQuantity: a quantity would cost too much to parse when it comes back.
	ReasonQuantity = "QuantityOutOfBounds"
	// ReasonClaimNotBound: the claim has no volume yet.
	ReasonClaimNotBound = "ClaimNotBound"
	// ReasonSyncNever: the object is labelled or annotated spillway.io/sync=never.
	ReasonSyncNever = "SyncNever"
	// ReasonMetadataTooLarge: the labels and annotations of what the pod needs take
	// more than MostMetadata.
	ReasonMetadataTooLarge = "MetadataTooLarge"
	// ReasonSelectorNotSent: the NetworkPolicy or PodDisruptionBudget selects pods by a label
	// that is not sent with them.
	ReasonSelectorNotSent = "SelectorNotSent"
	// ReasonPolicyTooLarge: the NetworkPolicy has more rules, peers and ports than are held.
	ReasonPolicyTooLarge = "PolicyTooLarge"
	// ReasonPolicyNarrowed: the NetworkPolicy is sent, and allows less than here, because
	// the provider has no counterpart of what else it names.
	ReasonPolicyNarrowed = "PolicyNarrowed"
	// ReasonEveryNamespaceHasOne: the ConfigMap is the root certificate that Kubernetes
	// puts into every namespace, including those of the provider.
	ReasonEveryNamespaceHasOne = "EveryNamespaceHasOne"
)
