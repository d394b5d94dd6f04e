package v1alpha1

// Domain is the domain, or the end of it, in all keys of Spillway's labels, annotations, finalizers
// and conditions.
const Domain = "spillway.io"

// Spillway writes these keys on the consumer's pods on virtual nodes, in the same request as their
// status.
const (
	// AnnotationRemoteNamespace names the remote namespace in which the pod runs.
	AnnotationRemoteNamespace = "spillway.io/remote-namespace"
	// AnnotationRemoteName is the name of the remote pod.
	AnnotationRemoteName = "spillway.io/remote-name"
	// AnnotationRemoteUID is the UID of the remote pod. A pod with this annotation has been
	// started, and Spillway does not start it again.
	AnnotationRemoteUID = "spillway.io/remote-uid"
	// AnnotationRemoteFor is the UID of the pod for which Spillway wrote all these keys. If
	// somebody creates a pod from the manifest of another one, its UID differs, and Spillway
	// ignores the keys.
	AnnotationRemoteFor = "spillway.io/remote-for-uid"
	// AnnotationRemoteIP is the pod's address in the provider, or two addresses, separated by a
	// comma. It informs users even if the status has no address.
	AnnotationRemoteIP = "spillway.io/remote-ip"
	// AnnotationLastSyncTime is when Spillway last wrote the status, in RFC 3339.
	AnnotationLastSyncTime = "spillway.io/last-sync-time"
)

// Spillway writes these keys on the ConfigMaps, Secrets, PersistentVolumeClaims and
// PersistentVolumes that it sends to a provider. Each key ends in the clusterID of the
// ClusterBinding, so that several bindings do not interfere.
const (
	// LabelSyncedTo and a clusterID form the label, with the value SyncedToTrue, of objects that
	// Spillway sends to that provider.
	LabelSyncedTo = "synced-to.spillway.io/"
	// SyncedToTrue is the only value of LabelSyncedTo.
	SyncedToTrue = "true"
	// AnnotationRemote and a clusterID form the annotation that says where the copy in that
	// provider is, as namespace/name. While pods need the object in both the mapped and the mount
	// namespace, it lists both, separated by a comma.
	AnnotationRemote = "remote.spillway.io/"
	// FinalizerSync and a clusterID form the finalizer that keeps an object until its copy in that
	// provider is gone.
	FinalizerSync = "sync.spillway.io/"
)

// PodOffloaded is the condition of a pod on a virtual node that reports whether the pod is in the
// provider, and if not, why. A pod that never had a problem does not have it.
const PodOffloaded = "spillway.io/Offloaded"

// Reasons of PodOffloaded. docs/pods.md lists more reasons, which refuse a pod for good because of
// what it contains.
const (
	// ReasonOffloaded: the pod is in the provider.
	ReasonOffloaded = "Offloaded"
	// ReasonNamespaceNotOffloaded: the pod's namespace is not offloaded to the provider, and the
	// ClusterBinding has no mountNamespace.
	ReasonNamespaceNotOffloaded = "NamespaceNotOffloaded"
	// ReasonNamespaceNeverOffloaded: the pod's namespace belongs to the cluster or to Spillway.
	// Spillway sends nothing from it to any provider.
	ReasonNamespaceNeverOffloaded = "NamespaceNeverOffloaded"
	// ReasonNamespaceNotReady: the remote namespace does not exist yet, or is being deleted.
	ReasonNamespaceNotReady = "NamespaceNotReady"
	// ReasonProviderAway: the provider cannot be reached, refuses the credentials, or is held by
	// another manager. Or its ClusterBinding is paused. Spillway sends nothing to it.
	ReasonProviderAway = "ProviderAway"
	// ReasonReferenceNotFound: the pod needs an object that does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonReferenceNotSynced: an object that the pod needs is not in the provider yet.
	ReasonReferenceNotSynced = "ReferenceNotSynced"
	// ReasonNetworkPolicyPending: the provider does not yet have a NetworkPolicy that selects the
	// pod, or has an older state of it.
	ReasonNetworkPolicyPending = "NetworkPolicyPending"
	// ReasonRejected: the provider refused the pod.
	ReasonRejected = "Rejected"
	// ReasonUpdateRejected: the provider refused a change of the pod, or reverted it. The pod keeps
	// running as it was.
	ReasonUpdateRejected = "UpdateRejected"
	// ReasonServerError: the provider keeps answering 500 to requests for the pod, for objects that
	// the pod needs, or for a remote namespace, or does not answer them although it answers others.
	// Most often one of its own admission webhooks does not answer.
	ReasonServerError = "ServerError"
	// ReasonOverBudget: the namespace, or all namespaces together, have sent as much to the
	// provider as spec.budget of its ClusterBinding allows.
	ReasonOverBudget = "OverBudget"
	// ReasonStatusRejected: the consumer refused the status that the provider reports.
	ReasonStatusRejected = "StatusRejected"
	// ReasonChangeUndone: somebody else keeps reverting what Spillway writes.
	ReasonChangeUndone = "ChangeUndone"
	// ReasonReplacing: an older pod of that name is still being deleted in the provider.
	ReasonReplacing = "Replacing"
	// ReasonEndedTooSoon: many pods of the namespace ended in the provider within a minute after
	// Spillway sent them. Spillway sends the next pods one at a time, more and more slowly, until
	// one of them lives for a minute.
	ReasonEndedTooSoon = "EndedTooSoon"
	// ReasonRemotePodDeleted: the provider is deleting the remote pod, without a request from the
	// consumer. If the pod has a controller, Spillway deletes it in the consumer, too. It is the
	// reason of an event and of the condition DisruptionTarget. It is also the reason of
	// PodOffloaded if finalizers hold the remote pod.
	ReasonRemotePodDeleted = "RemotePodDeleted"
	// ReasonNodeLost: the pod is being deleted, and its grace period is over, but the provider
	// still has it. Usually its node in the provider is lost.
	ReasonNodeLost = "NodeLost"
)

// ReasonRemotePodLost is the reason in the status of a Failed pod whose remote pod disappeared
// without a request from the consumer.
const ReasonRemotePodLost = "RemotePodLost"

// ReasonPodDeleted is the reason in the status of a Failed pod that was deleted in the consumer.
// The provider never ran it, or has not reported how it ended.
const ReasonPodDeleted = "PodDeleted"
