package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionPolicy says what happens to the objects in a provider when its ClusterBinding
// is deleted.
// +kubebuilder:validation:Enum=Drain;Orphan
type DeletionPolicy string

const (
	// DeletionPolicyDrain deletes them, and waits until they are gone. The default.
	DeletionPolicyDrain DeletionPolicy = "Drain"
	// DeletionPolicyOrphan leaves them there, unchanged.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)

// ClusterBindingSpec says how to use a provider.
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

	// mountNamespace is one remote namespace for pods of local namespaces that are not
	// mapped: pods that tolerate the virtual node themselves, in namespaces without a
	// NamespaceOffloading. Without it, such pods are not offloaded. It is created in the
	// provider, and deleted with the ClusterBinding. An existing namespace that was not
	// created for this ClusterBinding is not used. Immutable once set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="mountNamespace must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('kube-') && self != 'default'",message="mountNamespace must not be 'default' or begin with 'kube-': those belong to the provider"
	MountNamespace string `json:"mountNamespace,omitempty"`

	// remoteNamespaces says which names teams may use for new remote namespaces. Existing
	// ones stay.
	// +optional
	RemoteNamespaces RemoteNamespaces `json:"remoteNamespaces,omitzero"`

	// virtualNode says what the virtual node shows.
	// +optional
	VirtualNode VirtualNodeTemplate `json:"virtualNode,omitzero"`

	// network says whether the consumer's pods reach those in the provider.
	// +optional
	Network ProviderNetwork `json:"network,omitzero"`

	// classes are the names in the provider of the consumer's classes. At most 64, and one
	// for each kind and name. Ingresses, routes and load balancers follow a
	// change at once; pods that run stay as they are.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Classes []ClassMapping `json:"classes,omitempty"`

	// hosts are those that Ingresses and routes may have which are sent to the provider. At most
	// 32. Unset: all that the provider allows. One that has another host, or serves every host, is
	// not sent.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Hosts []HostPattern `json:"hosts,omitempty"`

	// deletionPolicy says what happens to the remote objects when the ClusterBinding is
	// deleted. Defaults to Drain.
	// +optional
	// +kubebuilder:default=Drain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// unreachable says how to treat a provider that does not answer.
	// +optional
	Unreachable UnreachablePolicy `json:"unreachable,omitzero"`

	// budget limits what the manager holds of the provider in memory.
	// +optional
	Budget Budget `json:"budget,omitzero"`

	// paused stops all writes to the provider and to the virtual node. Everything stays as
	// it is, and so does the connection. To protect its pods, the virtual node remains
	// Ready as long as the provider answers, and is recreated if it is gone.
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

// UnreachablePolicy says how to treat a provider that does not answer, or does not do
// what it is asked to.
type UnreachablePolicy struct {
	// deletionTimeout is how long an ordered deletion waits, counted from the deletion
	// request, for a provider that does not answer, or that answers but does not get rid
	// of a remote namespace which it was asked to delete. Then the deletion goes on, and
	// what is in the provider stays there until it answers again, if the ClusterBinding
	// still exists by then; an event LeftBehind names it. While the provider answers, pods
	// are still waited for. Such as 30m; at least 1s. Unset: for ever.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="deletionTimeout must be a duration of at least 1s, such as 30m"
	DeletionTimeout *metav1.Duration `json:"deletionTimeout,omitempty"`
}

// ClusterBindingStatus is the observed state of a provider.
type ClusterBindingStatus struct {
	// conditions: Ready, CredentialsValid, Connected, Fenced, LimitsKnown,
	// VirtualNodeReady, PodAdmission and Network. MountNamespaceReady with a
	// mountNamespace; ClassesReady with classes other than LoadBalancer; Limited while a
	// right to read is missing; ClockSkewed while its clock is wrong; VersionSkew while the CustomResourceDefinitions are of another
	// version than the manager; ProviderShared beside an
	// older ClusterBinding of the same provider, or beside one that may be of the same;
	// and Drained while being deleted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// remoteClusterUID is the identity of the provider, the UID of its
	// kube-system namespace, pinned at the first connection. Another cluster
	// behind the same Secret is refused.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RemoteClusterUID string `json:"remoteClusterUID,omitempty"`

	// remoteClusterAuthorities are hashes of the keys of the certificate authorities that
	// vouched for the provider when it reported its UID. The latest comes last; one that
	// is no longer used stays. Two ClusterBindings lead to the same provider if they share
	// the UID and one of these. No more than eight are recorded.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	RemoteClusterAuthorities []string `json:"remoteClusterAuthorities,omitempty"`

	// kubernetesVersion is the provider's, such as v1.36.3.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// lastHeartbeatTime is when the provider last answered, as of the last change of
	// Connected. It is not updated while nothing changes; the Lease of the virtual node
	// is.
	// +optional
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`

	// credentialsExpirationTime is when the credentials in the kubeconfig Secret
	// expire, if they say so: the token, or the client certificate. Of those that last less
	// than a day it is written once a fifth of that is left.
	// +optional
	CredentialsExpirationTime *metav1.Time `json:"credentialsExpirationTime,omitempty"`

	// holder is the manager that works in the provider, as of the last Lease taken there.
	// +optional
	Holder HolderStatus `json:"holder,omitzero"`

	// namespaces counts the remote namespaces.
	// +optional
	Namespaces NamespaceCounts `json:"namespaces,omitzero"`

	// classes are those of the provider that spec.classes imports, as far as they are there:
	// of these, the classes here are made.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=remoteName
	// +kubebuilder:validation:MaxItems=64
	Classes []ClassStatus `json:"classes,omitempty"`

	// virtualNodes are those of the provider.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	VirtualNodes []VirtualNodeStatus `json:"virtualNodes,omitempty"`
}

// NamespaceCounts counts remote namespaces.
type NamespaceCounts struct {
	// desired is the number of remote namespaces that the NamespaceMap asks for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Desired *int32 `json:"desired,omitempty"`
	// ready is how many of those exist.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Ready *int32 `json:"ready,omitempty"`
	// summary is ready/desired, for kubectl's column.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Summary string `json:"summary,omitempty"`
}

// ClusterBinding binds a provider cluster. It says how to reach it, what its virtual
// node shows, and what happens to the remote objects when the binding is deleted.
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
	// spec is the desired state.
	// +required
	Spec ClusterBindingSpec `json:"spec,omitzero"`
	// status is the observed state.
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

// Drains reports whether the deletion of the binding deletes what is in the provider. A policy of a
// newer version, which this one does not know, does not.
func (s *ClusterBindingSpec) Drains() bool {
	return s.DeletionPolicy == DeletionPolicyDrain || s.DeletionPolicy == ""
}

// VirtualNodeName is the name of the provider's virtual node.
func (b *ClusterBinding) VirtualNodeName() string { return VirtualNodePrefix + b.Spec.ClusterID }

func init() { SchemeBuilder.Register(&ClusterBinding{}, &ClusterBindingList{}) }
