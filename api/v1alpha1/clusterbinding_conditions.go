package v1alpha1

// Condition types of a ClusterBinding.
const (
	// BindingReady summarises the other conditions: pods and namespaces can be offloaded to the
	// provider.
	BindingReady = "Ready"
	// BindingCredentialsValid reports whether the manager can read the kubeconfig Secret, whether
	// the kubeconfig is safe to use, and whether the provider accepts it.
	BindingCredentialsValid = "CredentialsValid"
	// BindingConnected reports whether the provider answers, and is the cluster that was bound.
	BindingConnected = "Connected"
	// BindingVirtualNodeReady reports whether the virtual node exists, belongs to this
	// ClusterBinding, and is Ready.
	BindingVirtualNodeReady = "VirtualNodeReady"
	// BindingPodAdmission reports whether the consumer's API server can run the policy, or the
	// webhook, that gives pods of offloaded namespaces their toleration and affinity.
	BindingPodAdmission = "PodAdmission"
	// BindingMountNamespaceReady reports whether spec.mountNamespace exists in the provider and
	// belongs to this ClusterBinding. The condition is present only if that field is set. It has
	// the same reasons as the entries of a NamespaceMap, and also ReasonPending and
	// ReasonNamespaceDeleted.
	BindingMountNamespaceReady = "MountNamespaceReady"
	// BindingGrouped reports whether the provider has a virtual node for each group of its nodes. It
	// is present only if spec.virtualNode.groupBy is set.
	BindingGrouped = "Grouped"
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
	// ReasonSecretNotFound: the Secret does not exist in the manager's namespace.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonKeyNotFound: the Secret lacks the key.
	ReasonKeyNotFound = "KeyNotFound"
	// ReasonInvalidKubeconfig: the key holds no usable kubeconfig.
	ReasonInvalidKubeconfig = "InvalidKubeconfig"
	// ReasonForbiddenField: the kubeconfig has a field that could run code, read files or weaken
	// the connection. The message names the field.
	ReasonForbiddenField = "ForbiddenField"
	// ReasonExpiresSoon: the provider accepts the credentials, but they expire within 7 days.
	// Credentials that last less than 35 days get this reason in the last fifth of their lifetime.
	ReasonExpiresSoon = "ExpiresSoon"
	// ReasonUnauthorized: the provider does not accept the credentials.
	ReasonUnauthorized = "Unauthorized"
	// ReasonForbidden: the provider accepts the credentials, but they lack rights that Spillway
	// needs. The message names the missing right.
	ReasonForbidden = "Forbidden"
)

// Reasons of BindingConnected.
const (
	// ReasonConnected: the provider answers.
	ReasonConnected = "Connected"
	// ReasonConnecting: the manager is opening the first connection.
	ReasonConnecting = "Connecting"
	// ReasonUnreachable: the provider does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonWrongCA: the provider's certificate is not signed by the CA of the kubeconfig, is for
	// another name, or is out of date.
	ReasonWrongCA = "WrongCA"
	// ReasonIdentityChanged: another cluster answers. It is not the cluster that was bound.
	ReasonIdentityChanged = "IdentityChanged"
	// ReasonSameCluster: the provider is the consumer itself.
	ReasonSameCluster = "SameCluster"
	// ReasonStartFailed: the provider answers, but a part of the manager that works with it could
	// not start. The manager retries.
	ReasonStartFailed = "StartFailed"
	// ReasonTooLarge: the provider has more than spec.budget allows. The message says what there is
	// too much of, and names the limit. The manager retries less and less often, and at once when
	// the budget changes.
	ReasonTooLarge = "TooLarge"
	// ReasonCredentialsInvalid: see BindingCredentialsValid.
	ReasonCredentialsInvalid = "CredentialsInvalid"
)

// Reasons of BindingVirtualNodeReady.
const (
	// ReasonNodeReady: the Node exists, belongs to this ClusterBinding, and is Ready.
	ReasonNodeReady = "NodeReady"
	// ReasonNoUsableNodes: the Node is Ready and offers nothing, because no node of the provider
	// accepts pods. The message says why. The Node's own condition Ready has this reason, too.
	ReasonNoUsableNodes = "NoUsableNodes"
	// ReasonNodeNotReady: the Node exists and belongs to this ClusterBinding, but is not Ready.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonNodePending: the Node has not been created yet.
	ReasonNodePending = "NodePending"
	// ReasonNodeNameConflict: a Node of that name exists, but does not belong to this
	// ClusterBinding.
	ReasonNodeNameConflict = "NodeNameConflict"
)

// Reasons of BindingGrouped.
const (
	// ReasonGrouped: each group has its virtual node.
	ReasonGrouped = "Grouped"
	// ReasonTooManyGroups: there would be more than 64 groups, so there is one virtual node.
	ReasonTooManyGroups = "TooManyGroups"
	// ReasonGroupKeyMissing: no node of the provider has one of the labels. The others form groups.
	ReasonGroupKeyMissing = "GroupKeyMissing"
)

// ReasonNamespaceDeleted: Spillway deleted the mount namespace, because the ClusterBinding is being
// deleted.
const ReasonNamespaceDeleted = "NamespaceDeleted"

// Reasons of BindingDrained, in the order of the steps.
const (
	// ReasonPolicyUnknown: this version does not know the value of spec.deletionPolicy. It deletes
	// nothing.
	ReasonPolicyUnknown = "PolicyUnknown"
	// ReasonCordoning: the manager makes the virtual node unschedulable.
	ReasonCordoning = "Cordoning"
	// ReasonEvictingPods: the manager evicts the pods from the virtual node, and waits until they
	// are gone. The message names the first few. While the API server refuses to evict some of
	// them, the reason is ReasonEvictionsRefused, and the message says which ones, and why.
	ReasonEvictingPods = "EvictingPods"
	// ReasonDeletingCopies: the manager deletes the copies of what the pods needed from the
	// provider: ConfigMaps, Secrets, PersistentVolumeClaims and PersistentVolumes.
	ReasonDeletingCopies = "DeletingCopies"
	// ReasonDeletingNamespaces: the manager deletes the remote namespaces.
	ReasonDeletingNamespaces = "DeletingNamespaces"
	// ReasonProviderUnreachable: the deletion waits for a provider that does not answer.
	ReasonProviderUnreachable = "ProviderUnreachable"
	// ReasonDeletingNamespaceMap: the manager deletes the NamespaceMap.
	ReasonDeletingNamespaceMap = "DeletingNamespaceMap"
	// ReasonReleasingObjects: the manager removes the binding's label, annotation and finalizer
	// from objects whose copies stay in the provider.
	ReasonReleasingObjects = "ReleasingObjects"
	// ReasonDeletingNode: the manager deletes the virtual node and its Lease.
	ReasonDeletingNode = "DeletingNode"
	// ReasonDeletingLease: the manager deletes the binding's Lease from the provider.
	ReasonDeletingLease = "DeletingLease"
	// ReasonDrained: only the finalizer of the ClusterBinding is left.
	ReasonDrained = "Drained"
)
