package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// that are not mapped: those that tolerate the virtual node by themselves, in
	// namespaces without a NamespaceOffloading. Without it, such pods are not offloaded. It is made in
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

	// network reports whether pods of the consumer reach those in the provider.
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
	// is there is kept, and the connection too. For the sake of its pods, the virtual
	// node is Ready as long as the provider answers, and made again if it is gone.
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
	// older ClusterBinding of the same provider, or one that may be of the same,
	// ProviderShared and, while being deleted, Drained.
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

	// remoteClusterAuthorities are hashes of the keys of the certificate authorities
	// that have vouched for the provider when it said its UID; the latest comes last,
	// and one that is not used any more stays. Two ClusterBindings lead to the same
	// provider if the UID is the same, and one of these. Past the eighth no more are
	// noted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	RemoteClusterAuthorities []string `json:"remoteClusterAuthorities,omitempty"`

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
// +kubebuilder:printcolumn:name="Network",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Network")].reason`
// +kubebuilder:printcolumn:name="Fenced",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Fenced")].reason`
// +kubebuilder:printcolumn:name="Limited",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Limited")].reason`
// +kubebuilder:printcolumn:name="Shared",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ProviderShared")].reason`
// +kubebuilder:printcolumn:name="Drained",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Drained")].reason`
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
