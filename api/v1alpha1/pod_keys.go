package v1alpha1

// Domain is the domain, or its end, of all keys of Spillway's labels, annotations,
// finalizers and conditions.
const Domain = "spillway.io"

// Written by Spillway on the consumer's pods on virtual nodes, with their status, in
// the same request.
const (
	// AnnotationRemoteNamespace names the namespace in the provider in which the pod runs.
	AnnotationRemoteNamespace = "spillway.io/remote-namespace"
	// AnnotationRemoteName is the pod's name there.
	AnnotationRemoteName = "spillway.io/remote-name"
	// AnnotationRemoteUID is the UID of the remote pod. A pod that has it has been
	// started, and is not started a second time.
	AnnotationRemoteUID = "spillway.io/remote-uid"
	// AnnotationRemoteFor is the UID of the pod that all of these were written for. A pod
	// created from another one's manifest has its own UID, so these are not about it.
	AnnotationRemoteFor = "spillway.io/remote-for-uid"
	// AnnotationRemoteIP is the pod's address in the provider, or two of them, separated
	// by a comma. It is for people, whatever the status shows.
	AnnotationRemoteIP = "spillway.io/remote-ip"
	// AnnotationLastSyncTime is when the status was last written, in RFC 3339.
	AnnotationLastSyncTime = "spillway.io/last-sync-time"
)

// Written by Spillway on the ConfigMaps, Secrets, PersistentVolumeClaims and
// PersistentVolumes that it sends to a provider. Each key ends in the clusterID of the
// ClusterBinding, so that several do not interfere.
const (
	// LabelSyncedTo and a clusterID form the label, with the value SyncedToTrue, of what
	// is sent to that provider.
	LabelSyncedTo = "synced-to.spillway.io/"
	// SyncedToTrue is the only value of LabelSyncedTo.
	SyncedToTrue = "true"
	// AnnotationRemote and a clusterID form the annotation that says where the copy in
	// that provider is, as namespace/name. While pods need it in both the mapped and the
	// mount namespace, it lists both, separated by a comma.
	AnnotationRemote = "remote.spillway.io/"
	// FinalizerSync and a clusterID form the finalizer that keeps an object until its copy
	// in that provider is gone.
	FinalizerSync = "sync.spillway.io/"
)

// PodOffloaded is the condition of a pod on a virtual node that reports whether it is
// in the provider, and if not, why. A pod that never had a problem does not have it.
const PodOffloaded = "spillway.io/Offloaded"

// Reasons of PodOffloaded. docs/pods.md lists further ones, which refuse a pod for good
// because of what it contains.
const (
	// ReasonOffloaded: the pod is in the provider.
	ReasonOffloaded = "Offloaded"
	// ReasonNamespaceNotOffloaded: the pod's namespace is not offloaded to the
	// provider, and the ClusterBinding has no mountNamespace.
	ReasonNamespaceNotOffloaded = "NamespaceNotOffloaded"
	// ReasonNamespaceNeverOffloaded: the pod's namespace belongs to the cluster or to
	// Spillway, and nothing in it is sent anywhere.
	ReasonNamespaceNeverOffloaded = "NamespaceNeverOffloaded"
	// ReasonNamespaceNotReady: the remote namespace does not exist yet, or is being
	// deleted.
	ReasonNamespaceNotReady = "NamespaceNotReady"
	// ReasonProviderAway: the provider cannot be reached, refuses the credentials, or is
	// held by another manager, or its ClusterBinding is paused: nothing is sent there.
	ReasonProviderAway = "ProviderAway"
	// ReasonReferenceNotFound: the pod needs an object that does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonReferenceNotSynced: an object that the pod needs is not in the
	// provider yet.
	ReasonReferenceNotSynced = "ReferenceNotSynced"
	// ReasonNetworkPolicyPending: a NetworkPolicy that selects the pod is not in the provider
	// as it is here.
	ReasonNetworkPolicyPending = "NetworkPolicyPending"
	// ReasonRejected: the provider refused the pod.
	ReasonRejected = "Rejected"
	// ReasonUpdateRejected: the provider refused a change of the pod, or reverted it. The
	// pod keeps running as it was.
	ReasonUpdateRejected = "UpdateRejected"
	// ReasonServerError: the provider answers 500 each time it is asked to create, change
	// or delete the pod, what the pod needs, or a remote namespace, for example because
	// one of its own admission webhooks does not answer.
	ReasonServerError = "ServerError"
	// ReasonOverBudget: the namespace, or all together, have sent as much to the provider
	// as the spec.budget of its ClusterBinding allows.
	ReasonOverBudget = "OverBudget"
	// ReasonStatusRejected: the consumer refused the status that the provider reports.
	ReasonStatusRejected = "StatusRejected"
	// ReasonChangeUndone: somebody else undoes a change each time it is made.
	ReasonChangeUndone = "ChangeUndone"
	// ReasonReplacing: an older pod of that name is still being deleted in the provider.
	ReasonReplacing = "Replacing"
	// ReasonEndedTooSoon: the provider has ended many pods of the namespace within a
	// minute after they were sent. The next are sent one at a time, more and more slowly,
	// until one of them lives for a minute.
	ReasonEndedTooSoon = "EndedTooSoon"
	// ReasonRemotePodDeleted: the provider is deleting the pod, without a request from the
	// consumer. If the pod has a controller, it is deleted here too. The reason of an event
	// and of the condition DisruptionTarget; and of this one if finalizers hold the pod there.
	ReasonRemotePodDeleted = "RemotePodDeleted"
	// ReasonNodeLost: the pod is being deleted, its grace period is over, and the provider
	// has not ended it: as a rule, the node there is lost.
	ReasonNodeLost = "NodeLost"
)

// ReasonRemotePodLost is the reason in the status of a pod that has Failed because it
// is gone from the provider, without a request from the consumer.
const ReasonRemotePodLost = "RemotePodLost"

// ReasonPodDeleted is the reason in the status of a pod that has Failed because it was
// deleted in the consumer, and the provider has not reported how it ended, or never ran
// it.
const ReasonPodDeleted = "PodDeleted"
