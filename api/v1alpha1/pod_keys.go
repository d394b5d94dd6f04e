package v1alpha1

// Domain is the domain of all keys of labels, annotations, finalizers and
// conditions of Spillway, or the end of it.
const Domain = "spillway.io"

// What Spillway writes on the consumer's pods that are on a virtual node, with
// their status, in the same request.
const (
	// AnnotationRemoteNamespace names the namespace in the provider that the
	// pod runs in.
	AnnotationRemoteNamespace = "spillway.io/remote-namespace"
	// AnnotationRemoteName is the name that it has there.
	AnnotationRemoteName = "spillway.io/remote-name"
	// AnnotationRemoteUID is the UID of the remote pod. A pod that has it has
	// been started, and is not started a second time.
	AnnotationRemoteUID = "spillway.io/remote-uid"
	// AnnotationRemoteFor is the UID of the pod that all of these were written
	// for. A pod that is made from the manifest of another one has a UID of its
	// own, and what it says of a remote pod is not about it.
	AnnotationRemoteFor = "spillway.io/remote-for-uid"
	// AnnotationRemoteIP is the address that the pod has in the provider, or two of
	// them with a comma: for people, whatever the status shows.
	AnnotationRemoteIP = "spillway.io/remote-ip"
	// AnnotationLastSyncTime is when the status was written last, in RFC 3339.
	AnnotationLastSyncTime = "spillway.io/last-sync-time"
)

// What Spillway writes on the ConfigMaps, Secrets, PersistentVolumeClaims and
// PersistentVolumes that it sends to a provider. Each key ends in the clusterID
// of the ClusterBinding, so that several do not disturb each other.
const (
	// LabelSyncedTo and a clusterID are the label, with the value SyncedToTrue,
	// of what is sent to that provider.
	LabelSyncedTo = "synced-to.spillway.io/"
	// SyncedToTrue is the only value of LabelSyncedTo.
	SyncedToTrue = "true"
	// AnnotationRemote and a clusterID are the annotation that says where the
	// copy in that provider is, as namespace/name. While pods need it in the
	// mapped namespace and in the mount namespace, it lists both, with a comma.
	AnnotationRemote = "remote.spillway.io/"
	// FinalizerSync and a clusterID are the finalizer that keeps an object
	// until its copy in that provider is gone.
	FinalizerSync = "sync.spillway.io/"
)

// PodOffloaded is the condition of a pod on a virtual node that reports whether it
// is in the provider, and why not. It is missing while all goes well.
const PodOffloaded = "spillway.io/Offloaded"

// Reasons of PodOffloaded. What refuses a pod for good, because of what it is
// made of, has reasons of its own, which docs/pods.md lists.
const (
	// ReasonOffloaded: the pod is in the provider.
	ReasonOffloaded = "Offloaded"
	// ReasonNamespaceNotOffloaded: the pod's namespace is not offloaded to the
	// provider, and the ClusterBinding has no mountNamespace.
	ReasonNamespaceNotOffloaded = "NamespaceNotOffloaded"
	// ReasonNamespaceNeverOffloaded: the pod's namespace belongs to the cluster
	// or to Spillway, and nothing of it is sent anywhere.
	ReasonNamespaceNeverOffloaded = "NamespaceNeverOffloaded"
	// ReasonNamespaceNotReady: the remote namespace is not there yet, or is
	// being deleted.
	ReasonNamespaceNotReady = "NamespaceNotReady"
	// ReasonProviderAway: the provider cannot be reached, refuses the credentials, or
	// is held by another manager, or its ClusterBinding is paused: nothing is sent there.
	ReasonProviderAway = "ProviderAway"
	// ReasonReferenceNotFound: the pod needs an object that does not exist.
	ReasonReferenceNotFound = "ReferenceNotFound"
	// ReasonReferenceNotSynced: an object that the pod needs is not in the
	// provider yet.
	ReasonReferenceNotSynced = "ReferenceNotSynced"
	// ReasonRejected: the provider refused the pod.
	ReasonRejected = "Rejected"
	// ReasonUpdateRejected: the provider refused a change of the pod, or took it
	// back. The pod runs on as it was.
	ReasonUpdateRejected = "UpdateRejected"
	// ReasonServerError: each time that the provider is asked to create, change or
	// delete the pod, what it needs, or a remote namespace, it answers that it cannot
	// (500), such as for an admission webhook of its own that does not answer.
	ReasonServerError = "ServerError"
	// ReasonOverBudget: what the namespace has sent to the provider, or what all have, is
	// as much as the spec.budget of its ClusterBinding lets them.
	ReasonOverBudget = "OverBudget"
	// ReasonStatusRejected: the consumer refused the status that the provider
	// reports.
	ReasonStatusRejected = "StatusRejected"
	// ReasonReplacing: an older pod of that name is still being deleted in the provider.
	ReasonReplacing = "Replacing"
	// ReasonEndedTooSoon: the provider has ended many pods of the namespace within a
	// minute after they were sent. The next are sent one at a time, ever more slowly,
	// until one of them lives for a minute.
	ReasonEndedTooSoon = "EndedTooSoon"
)

// ReasonRemotePodLost is the reason in the status of a pod that has Failed
// because it is gone from the provider, and nobody in the consumer has asked for that.
const ReasonRemotePodLost = "RemotePodLost"
