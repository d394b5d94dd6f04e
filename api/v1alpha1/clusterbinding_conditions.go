package v1alpha1

// Condition types of a ClusterBinding.
const (
	// BindingReady summarises the others: pods and namespaces can be offloaded to the
	// provider.
	BindingReady = "Ready"
	// BindingCredentialsValid reports whether the kubeconfig Secret can be read, is safe
	// to use, and is accepted by the provider.
	BindingCredentialsValid = "CredentialsValid"
	// BindingConnected reports whether the provider answers, and is the cluster
	// that was bound.
	BindingConnected = "Connected"
	// BindingVirtualNodeReady reports whether the virtual node exists, is ours and is
	// Ready.
	BindingVirtualNodeReady = "VirtualNodeReady"
	// BindingPodAdmission reports whether the consumer's API server can run the
	// policy that gives pods of offloaded namespaces their toleration and affinity.
	BindingPodAdmission = "PodAdmission"
	// BindingMountNamespaceReady reports whether spec.mountNamespace exists in the
	// provider and is ours. The condition is present only if that field is set. Its
	// reasons are those of the entries of a NamespaceMap, ReasonPending and
	// ReasonNamespaceDeleted.
	BindingMountNamespaceReady = "MountNamespaceReady"
	// BindingDrained is present only while a ClusterBinding is being deleted. Its reason
	// names the current step of the ordered deletion.
	BindingDrained = "Drained"
)

// Reasons of BindingReady.
const (
	// ReasonReady: everything works.
	ReasonReady = "Ready"
	// ReasonPaused: spec.paused is set.
	ReasonPaused = "Paused"
	// ReasonDuplicateClusterID: an older ClusterBinding has the same clusterID.
	ReasonDuplicateClusterID = "DuplicateClusterID"
	// ReasonDeleting: the ClusterBinding is being deleted; see BindingDrained.
	ReasonDeleting = "Deleting"
)

// Reasons of BindingCredentialsValid.
const (
	// ReasonAccepted: the provider accepted the credentials.
	ReasonAccepted = "Accepted"
	// ReasonSecretNotFound: the manager's namespace has no such Secret.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonKeyNotFound: the Secret lacks the key.
	ReasonKeyNotFound = "KeyNotFound"
	// ReasonInvalidKubeconfig: the key holds no usable kubeconfig.
	ReasonInvalidKubeconfig = "InvalidKubeconfig"
	// ReasonForbiddenField: the kubeconfig has a field that could run code,
	// read files or weaken the connection. The message names it.
	ReasonForbiddenField = "ForbiddenField"
	// ReasonExpiresSoon: the provider accepts the credentials, and they expire within 7
	// days, or, if they last less than 35 days, within a fifth of their lifetime.
	ReasonExpiresSoon = "ExpiresSoon"
	// ReasonUnauthorized: the provider does not accept the credentials.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden: the provider accepts the credentials, but they lack
	// rights that Spillway needs. The message names the missing one.
	ReasonForbidden = "Forbidden"
)

// Reasons of BindingConnected.
const (
	// ReasonConnected: the provider answers.
	ReasonConnected = "Connected"
	// ReasonConnecting: the first connection is being made.
	ReasonConnecting = "Connecting"
	// ReasonUnreachable: the provider does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonWrongCA: the provider's certificate is not signed by the CA of
	// the kubeconfig, or is for another name.
	ReasonWrongCA = "WrongCA"
	// ReasonIdentityChanged: another cluster answers than the one that was bound.
	ReasonIdentityChanged = "IdentityChanged"
	// ReasonSameCluster: the provider is the consumer itself.
	ReasonSameCluster = "SameCluster"
	// ReasonStartFailed: the provider answers, but something that works with it could not
	// start. It is retried.
	ReasonStartFailed = "StartFailed"
	// ReasonTooLarge: the provider has more than spec.budget allows. The message says of
	// what, and names the limit. It is retried less and less often, and at once when the
	// budget changes.
	ReasonTooLarge = "TooLarge"
	// ReasonCredentialsInvalid: see BindingCredentialsValid.
	ReasonCredentialsInvalid = "CredentialsInvalid"
)

// Reasons of BindingVirtualNodeReady.
const (
	// ReasonNodeReady: the Node exists, is ours, and is Ready.
	ReasonNodeReady = "NodeReady"
	// ReasonNoUsableNodes: the Node is Ready and offers nothing, because no node of the
	// provider takes pods. The message says why. Also a reason of the Node's own Ready.
	ReasonNoUsableNodes = "NoUsableNodes"
	// ReasonNodeNotReady: the Node exists and is ours, but is not Ready.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonNodePending: the Node has not been created yet.
	ReasonNodePending = "NodePending"
	// ReasonNodeNameConflict: a Node of that name exists that is not ours.
	ReasonNodeNameConflict = "NodeNameConflict"
)

// ReasonNamespaceDeleted: the mount namespace was deleted, because the
// ClusterBinding is being deleted.
const ReasonNamespaceDeleted = "NamespaceDeleted"

// Reasons of BindingDrained, in the order of the steps.
const (
	// ReasonPolicyUnknown: spec.deletionPolicy is one that this version does not know. Nothing is
	// deleted.
	ReasonPolicyUnknown = "PolicyUnknown"
	// ReasonCordoning: the virtual node is being made unschedulable.
	ReasonCordoning = "Cordoning"
	// ReasonEvictingPods: the pods on the virtual node are being evicted and waited for.
	// The message names the first few. While the API server refuses to evict some of them,
	// the reason is ReasonEvictionsRefused, and the message says which ones, and why.
	ReasonEvictingPods = "EvictingPods"
	// ReasonDeletingCopies: what the pods needed is being deleted in the
	// provider: ConfigMaps, Secrets, PersistentVolumeClaims and PersistentVolumes.
	ReasonDeletingCopies = "DeletingCopies"
	// ReasonDeletingNamespaces: the remote namespaces are being deleted.
	ReasonDeletingNamespaces = "DeletingNamespaces"
	// ReasonProviderUnreachable: the deletion waits for a provider that does not answer.
	ReasonProviderUnreachable = "ProviderUnreachable"
	// ReasonDeletingNamespaceMap: the NamespaceMap is being deleted.
	ReasonDeletingNamespaceMap = "DeletingNamespaceMap"
	// ReasonReleasingObjects: the binding's label, annotation and finalizer are removed
	// from objects whose copies stay in the provider.
	ReasonReleasingObjects = "ReleasingObjects"
	// ReasonDeletingNode: the virtual node and its lease are being deleted.
	ReasonDeletingNode = "DeletingNode"
	// ReasonDeletingLease: the binding's Lease in the provider is being deleted.
	ReasonDeletingLease = "DeletingLease"
	// ReasonDrained: nothing is left but the finalizer.
	ReasonDrained = "Drained"
)
