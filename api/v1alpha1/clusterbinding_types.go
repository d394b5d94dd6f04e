package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Condition types of a ClusterBinding.
const (
	// BindingReady sums up the others: pods and namespaces can be offloaded
	// to the provider.
	BindingReady = "Ready"
	// BindingCredentialsValid tells whether the kubeconfig Secret could be
	// read, is safe to use, and is accepted by the provider.
	BindingCredentialsValid = "CredentialsValid"
	// BindingConnected tells whether the provider answers, and is the cluster
	// that was bound.
	BindingConnected = "Connected"
	// BindingVirtualNodeReady tells whether the virtual node stands for the provider.
	BindingVirtualNodeReady = "VirtualNodeReady"
	// BindingPodAdmission tells whether the consumer's API server can run the
	// policy that gives pods of offloaded namespaces their toleration and affinity.
	BindingPodAdmission = "PodAdmission"
	// BindingMountNamespaceReady tells whether spec.mountNamespace is there, and is
	// ours. It exists only if that is set. Its reasons are those of the entries of
	// a NamespaceMap, ReasonPending and ReasonNamespaceDeleted.
	BindingMountNamespaceReady = "MountNamespaceReady"
	// BindingDrained exists only while a ClusterBinding is being deleted. Its
	// reason names the step that the ordered deletion has reached.
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
	// ReasonSecretNotFound: there is no such Secret in the manager's namespace.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonKeyNotFound: the Secret lacks the key.
	ReasonKeyNotFound = "KeyNotFound"
	// ReasonInvalidKubeconfig: what the key holds is not a usable kubeconfig.
	ReasonInvalidKubeconfig = "InvalidKubeconfig"
	// ReasonForbiddenField: the kubeconfig has a field that could run code,
	// read files or weaken the connection. The message names it.
	ReasonForbiddenField = "ForbiddenField"
	// ReasonExpiresSoon: the provider accepts the credentials, and they expire
	// within 7 days, or, if they last less than 35, within a fifth of that.
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
	// ReasonStartFailed: the provider answers, but something that works with it
	// could not be started. It is tried again.
	ReasonStartFailed = "StartFailed"
	// ReasonTooLarge: there is more of the provider than spec.budget allows. The
	// message says of what, and what the limit is. It is tried again ever more
	// seldom, and at once when the budget changes.
	ReasonTooLarge = "TooLarge"
	// ReasonCredentialsInvalid: see BindingCredentialsValid.
	ReasonCredentialsInvalid = "CredentialsInvalid"
)

// Reasons of BindingVirtualNodeReady.
const (
	// ReasonNodeReady: the Node exists, is ours, and is Ready.
	ReasonNodeReady = "NodeReady"
	// ReasonNoUsableNodes: the Node is Ready and offers nothing, because no node of
	// the provider takes pods. The message says why. Also a reason of the Node's own Ready.
	ReasonNoUsableNodes = "NoUsableNodes"
	// ReasonNodeNotReady: the Node exists and is ours, but is not Ready.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonNodePending: the Node has not been created yet.
	ReasonNodePending = "NodePending"
	// ReasonNodeNameConflict: a Node of that name exists that is not ours.
	ReasonNodeNameConflict = "NodeNameConflict"
)

// Reasons of BindingPodAdmission.
const (
	// ReasonPolicyServed: the API server serves MutatingAdmissionPolicy as v1.
	ReasonPolicyServed = "PolicyServed"
	// ReasonPolicyNotServed: it does not, as before Kubernetes 1.36. Pods of
	// offloaded namespaces get no affinity by themselves, and a toleration only
	// once they wait for a node.
	ReasonPolicyNotServed = "PolicyNotServed"
)

// ReasonNamespaceDeleted: the mount namespace was deleted, because the
// ClusterBinding is being deleted.
const ReasonNamespaceDeleted = "NamespaceDeleted"

// Reasons of BindingDrained, in the order of the steps.
const (
	// ReasonCordoning: the virtual node is being made unschedulable.
	ReasonCordoning = "Cordoning"
	// ReasonEvictingPods: the pods on the virtual node are being evicted, and
	// waited for. The message names the first few, and says which ones the API
	// server refuses to evict, and why.
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
	// ReasonReleasingObjects: label, annotation and finalizer of the binding are
	// taken off objects whose copies stay in the provider.
	ReasonReleasingObjects = "ReleasingObjects"
	// ReasonDeletingNode: the virtual node and its lease are being deleted.
	ReasonDeletingNode = "DeletingNode"
	// ReasonDrained: nothing is left but the finalizer.
	ReasonDrained = "Drained"
)

// DeletionPolicy says what becomes of what was created in a provider when its
// ClusterBinding is deleted.
// +kubebuilder:validation:Enum=Drain;Orphan
type DeletionPolicy string

const (
	// DeletionPolicyDrain deletes it, and waits for that. The default.
	DeletionPolicyDrain DeletionPolicy = "Drain"
	// DeletionPolicyOrphan leaves it there, as it is.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)

// ClusterBindingSpec is what a platform engineer says about a provider.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.mountNamespace) || (has(self.mountNamespace) && self.mountNamespace == oldSelf.mountNamespace)",fieldPath=".mountNamespace",message="mountNamespace is immutable once set"
type ClusterBindingSpec struct {
	// clusterID names the provider in labels, finalizers and the name of its
	// virtual node. A DNS label of at most 24 characters. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterID is immutable: delete the ClusterBinding and make it again"
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="clusterID must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	ClusterID string `json:"clusterID,omitempty"`

	// kubeconfigSecretRef names the Secret, in the manager's own namespace,
	// that holds the credentials for the provider.
	// +required
	KubeconfigSecretRef KubeconfigSecretReference `json:"kubeconfigSecretRef,omitzero"`

	// mountNamespace is the one remote namespace for pods of local namespaces
	// that are not mapped. Without it, such pods are not offloaded. It is made in
	// the provider, and deleted with the ClusterBinding; one that exists and was
	// not made for this ClusterBinding is not used. Immutable once set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="mountNamespace must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('kube-') && self != 'default'",message="mountNamespace must not be 'default' or begin with 'kube-': those belong to the provider"
	MountNamespace string `json:"mountNamespace,omitempty"`

	// remoteNamespaces says which names teams may have for their remote namespaces.
	// It is about new ones: one that is there stays.
	// +optional
	RemoteNamespaces RemoteNamespaces `json:"remoteNamespaces,omitzero"`

	// virtualNode says what the virtual node shows.
	// +optional
	VirtualNode VirtualNodeTemplate `json:"virtualNode,omitzero"`

	// network says whether pods of the consumer reach those in the provider.
	// +optional
	Network ProviderNetwork `json:"network,omitzero"`

	// deletionPolicy says what becomes of the remote objects when the
	// ClusterBinding is deleted. Defaults to Drain.
	// +optional
	// +kubebuilder:default=Drain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// unreachable says what to do about a provider that does not answer.
	// +optional
	Unreachable UnreachablePolicy `json:"unreachable,omitzero"`

	// budget bounds what the manager holds of the provider in memory.
	// +optional
	Budget Budget `json:"budget,omitzero"`

	// paused stops all writes to the provider and to the virtual node. What
	// is there is kept, and the connection too; a virtual node that is gone is
	// made again, for the sake of its pods.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// KubeconfigSecretReference names a key of a Secret in the manager's own namespace.
type KubeconfigSecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="name must be the name of a Secret: a DNS subdomain"
	Name string `json:"name,omitempty"`
	// key of the Secret that holds the kubeconfig. Defaults to kubeconfig.
	// +optional
	// +kubebuilder:default=kubeconfig
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-._a-zA-Z0-9]+$')",message="key must be a key of a Secret: letters, digits, '-', '_' and '.'"
	Key string `json:"key,omitempty"`
}

// VirtualNodeTemplate says what the virtual node of a provider shows.
type VirtualNodeTemplate struct {
	// labels of the virtual node, for the selectors of NamespaceOffloadings
	// and of pods. At most 32. Keys under spillway.io/ and
	// kubernetes.io/hostname are set by Spillway.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="labels must have valid keys, such as topology.kubernetes.io/region"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63 && !format.labelValue().validate(self[k]).hasValue())",message="labels must have valid values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('spillway.io/') && k != 'kubernetes.io/hostname')",message="labels under spillway.io/ and kubernetes.io/hostname are set by Spillway"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations of the virtual node. At most 32. Keys under spillway.io/ are
	// set by Spillway.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="annotations must have valid keys, such as example.com/contact"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('spillway.io/'))",message="annotations under spillway.io/ are set by Spillway"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// taints of the virtual node, besides spillway.io/virtual-node. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Taints []VirtualNodeTaint `json:"taints,omitempty"`

	// capacity caps what the virtual node offers of a resource: by a
	// quantity, such as 64 or 256Gi, or by a percentage of what the
	// provider's nodes offer, such as 50%. Resources that are not listed are
	// not capped. At most 24.
	// +optional
	// +kubebuilder:validation:MaxProperties=24
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : self[k].endsWith('%') || (isQuantity(self[k]) && !self[k].startsWith('-')))",message="capacity must be a quantity that is not negative, such as 64 or 256Gi, or a percentage"
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int || !self[k].endsWith('%') || self[k] == '100%' || (size(self[k]) == 2 && self[k].charAt(0) in ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) || (size(self[k]) == 3 && self[k].charAt(0) in ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'] && self[k].charAt(1) in ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']))",message="capacity as a percentage must be a whole number from 0% to 100%"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="capacity must have valid resource names, such as memory or example.com/gpu"
	Capacity map[corev1.ResourceName]intstr.IntOrString `json:"capacity,omitempty"`
}

// LabelValue is the value of a label: at most 63 characters.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation: at most 1024 characters.
// +kubebuilder:validation:MaxLength=1024
type AnnotationValue string

// VirtualNodeTaint is a taint of a virtual node.
type VirtualNodeTaint struct {
	// key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="key must be a taint key, such as example.com/gpu"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('spillway.io/')",message="taints under spillway.io/ are set by Spillway"
	Key string `json:"key,omitempty"`
	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="value must be a label value: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	Value string `json:"value,omitempty"`
	// effect of the taint.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// UnreachablePolicy says what to do about a provider that does not answer, or
// does not do what it is asked for.
type UnreachablePolicy struct {
	// deletionTimeout is how long an ordered deletion waits for a provider
	// that does not answer, or that answers and does not get rid of a remote
	// namespace which it was asked to delete, counted from the deletion request.
	// Then it goes on, and what is in the provider stays there until it answers
	// again, if the ClusterBinding still exists by then; an event LeftBehind
	// names it. Pods are waited for as long as the provider answers. Such as
	// 30m; at least 1s. Unset: for ever.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="deletionTimeout must be a duration of at least 1s, such as 30m"
	DeletionTimeout *metav1.Duration `json:"deletionTimeout,omitempty"`
}

// ClusterBindingStatus is what Spillway knows about a provider.
type ClusterBindingStatus struct {
	// conditions: Ready, CredentialsValid, Connected, Fenced, LimitsKnown,
	// VirtualNodeReady, PodAdmission, Network, with a mountNamespace
	// MountNamespaceReady, while a right to read is missing Limited, beside an
	// older ClusterBinding of the same provider ProviderShared and, while being
	// deleted, Drained.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// remoteClusterUID is the identity of the provider, the UID of its
	// kube-system namespace, pinned at the first connection. Another cluster
	// behind the same Secret is refused.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RemoteClusterUID string `json:"remoteClusterUID,omitempty"`

	// kubernetesVersion of the provider, such as v1.36.3.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// lastHeartbeatTime is when the provider last answered, as of the last
	// change of Connected. It is not kept up while nothing changes; the Lease
	// of the virtual node is.
	// +optional
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`

	// credentialsExpirationTime is when the credentials in the kubeconfig Secret
	// expire, if they say so: the token, or the client certificate.
	// +optional
	CredentialsExpirationTime *metav1.Time `json:"credentialsExpirationTime,omitempty"`

	// holder is the manager that works in the provider, as of the last Lease that
	// one has taken there.
	// +optional
	Holder HolderStatus `json:"holder,omitzero"`

	// namespaces counts the remote namespaces.
	// +optional
	Namespaces NamespaceCounts `json:"namespaces,omitzero"`

	// virtualNodes that stand for the provider.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	VirtualNodes []VirtualNodeStatus `json:"virtualNodes,omitempty"`
}

// NamespaceCounts counts remote namespaces.
type NamespaceCounts struct {
	// desired is how many the NamespaceMap asks for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Desired *int32 `json:"desired,omitempty"`
	// ready is how many of those are there.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Ready *int32 `json:"ready,omitempty"`
	// summary is ready/desired, for the column.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Summary string `json:"summary,omitempty"`
}

// VirtualNodeStatus is a virtual node of a provider.
type VirtualNodeStatus struct {
	// name of the Node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// ClusterBinding binds a provider cluster: it says how to reach it, what its
// virtual node shows, and what becomes of the remote objects in the end.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=cb,categories=spillway
// +kubebuilder:printcolumn:name="Cluster ID",type=string,JSONPath=`.spec.clusterID`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Namespaces",type=string,JSONPath=`.status.namespaces.summary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterBinding struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is what is wanted.
	// +required
	Spec ClusterBindingSpec `json:"spec,omitzero"`
	// status is what there is.
	// +optional
	Status ClusterBindingStatus `json:"status,omitzero"`
}

// ClusterBindingList is a list of ClusterBindings.
// +kubebuilder:object:root=true
type ClusterBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterBinding `json:"items"`
}

// VirtualNodeName is the name of the virtual node that stands for the provider.
func (b *ClusterBinding) VirtualNodeName() string { return VirtualNodePrefix + b.Spec.ClusterID }

func init() { SchemeBuilder.Register(&ClusterBinding{}, &ClusterBindingList{}) }
