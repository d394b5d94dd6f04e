package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DeletionPolicy says what happens to the objects in a provider when its ClusterBinding
// is deleted.
// +kubebuilder:validation:Enum=Drain;Orphan
type DeletionPolicy string

const (
	// DeletionPolicyDrain deletes the remote objects, and waits until they are gone. The default.
	DeletionPolicyDrain DeletionPolicy = "Drain"
	// DeletionPolicyOrphan leaves the remote objects in the provider, unchanged.
	DeletionPolicyOrphan DeletionPolicy = "Orphan"
)

// ProviderEvents says which events of a provider are shown in the consumer.
// +kubebuilder:validation:Enum=All;Warnings
type ProviderEvents string

const (
	// ProviderEventsWarnings shows warnings. The default.
	ProviderEventsWarnings ProviderEvents = "Warnings"
	// ProviderEventsAll shows warnings and events of the type Normal.
	ProviderEventsAll ProviderEvents = "All"
)

// ClusterBindingSpec says how to use a provider.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.mountNamespace) || (has(self.mountNamespace) && self.mountNamespace == oldSelf.mountNamespace)",fieldPath=".mountNamespace",message="mountNamespace is immutable once set"
type ClusterBindingSpec struct {
	// clusterID names the provider in labels, finalizers and the name of its virtual node. It is a
	// DNS label of at most 24 characters. Immutable.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterID is immutable: delete and recreate the ClusterBinding"
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="clusterID must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	ClusterID string `json:"clusterID,omitempty"`

	// kubeconfigSecretRef names the Secret with the credentials for the provider. The Secret must
	// be in the manager's own namespace.
	// +required
	KubeconfigSecretRef KubeconfigSecretReference `json:"kubeconfigSecretRef,omitzero"`

	// mountNamespace is a single remote namespace for pods whose local namespace has no
	// NamespaceOffloading, and which tolerate the virtual node themselves. If it is unset, Spillway
	// does not send such pods. Spillway creates the namespace in the provider, and deletes it with
	// the ClusterBinding. It does not use an existing namespace that was not created for this
	// ClusterBinding. Immutable once set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="mountNamespace must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('kube-') && self != 'default'",message="mountNamespace must not be 'default' or begin with 'kube-': the provider uses those"
	MountNamespace string `json:"mountNamespace,omitempty"`

	// remoteNamespaces says which names teams may use for new remote namespaces. Existing remote
	// namespaces stay when it changes.
	// +optional
	RemoteNamespaces RemoteNamespaces `json:"remoteNamespaces,omitzero"`

	// virtualNode says what the virtual node shows.
	// +optional
	VirtualNode VirtualNodeTemplate `json:"virtualNode,omitzero"`

	// network says whether the consumer's pods can reach the pods in the provider.
	// +optional
	Network ProviderNetwork `json:"network,omitzero"`

	// classes maps classes of the consumer to classes of the provider. At most 64, one for each
	// kind and name. Ingresses, routes and load balancers follow a change at once. Running pods
	// stay as they are.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Classes []ClassMapping `json:"classes,omitempty"`

	// hosts limits the hosts of Ingresses and routes that Spillway sends to the provider. It does
	// not send an Ingress or route with a host that matches no item. One that serves every host
	// needs the item "*". At most 32. If unset, only the provider's own limits apply.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Hosts []HostPattern `json:"hosts,omitempty"`

	// consumerAPI is the API server of the consumer, as pods in the provider reach it. Pods whose
	// NamespaceOffloading lists their ServiceAccount in apiAccess use it. Without it, such pods
	// wait.
	// +optional
	ConsumerAPI ConsumerAPI `json:"consumerAPI,omitzero"`

	// import says what the consumer gets from the provider besides the classes that spec.classes
	// imports.
	// +optional
	Import Imports `json:"import,omitzero"`

	// serviceAccounts maps ServiceAccounts of the consumer to ServiceAccounts of the provider. A pod
	// of a mapped ServiceAccount runs as the other one in the provider, and gets what the provider
	// gives to that one, such as an identity of its cloud. It waits until the provider's limits allow
	// that. Other pods run as the ServiceAccount default of the remote namespace, without a token. At
	// most 64, one for each namespace and name. Running pods stay as they are.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	ServiceAccounts []ServiceAccountMapping `json:"serviceAccounts,omitempty"`

	// quota limits what the pods of some namespaces may request in the provider. A pod that would exceed
	// it waits, and its condition spillway.io/Offloaded says QuotaExceeded. Pods that were sent stay when
	// a quota is lowered. At most 32, with at most 64 resources in all of them together.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.map(q, size(q.hard)).sum() <= 64",message="quota must have at most 64 resources in all its items together"
	Quota []NamespaceQuota `json:"quota,omitempty"`

	// events says which events of the provider about remote objects are shown on the local objects.
	// Defaults to Warnings. With All, the manager reads all events of the provider, and each pod costs
	// a few more writes.
	// +optional
	Events ProviderEvents `json:"events,omitempty"`

	// deletionPolicy says what happens to the remote objects when the ClusterBinding is deleted.
	// Drain deletes them, and waits until they are gone. Orphan leaves them in the provider.
	// Defaults to Drain.
	// +optional
	// +kubebuilder:default=Drain
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// unreachable says how Spillway treats a provider that does not answer.
	// +optional
	Unreachable UnreachablePolicy `json:"unreachable,omitzero"`

	// budget limits how much memory the manager uses for the provider.
	// +optional
	Budget Budget `json:"budget,omitzero"`

	// paused stops all writes to the provider and to the virtual node. Existing objects stay as
	// they are, and the manager stays connected. The manager still keeps the virtual node Ready
	// while the provider answers, and recreates the node if it is deleted, because its pods depend
	// on it. Defaults to false.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// Imports says what the consumer gets from the provider.
type Imports struct {
	// csi makes the consumer's scheduler ask whether the provider has room for a volume. The manager
	// reads the CSIDrivers and CSIStorageCapacities of the provider. In the consumer, it sets
	// storageCapacity of the CSIDriver csi.spillway.io, and creates a CSIStorageCapacity for each
	// mapped StorageClass of each ClusterBinding. This ends with the last ClusterBinding that imports
	// them. Defaults to false.
	// +optional
	CSI bool `json:"csi,omitempty"`
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

// UnreachablePolicy says how Spillway treats a provider that does not answer, or does not do what
// it is asked to.
type UnreachablePolicy struct {
	// deletionTimeout is how long an ordered deletion waits for the provider, counted from the
	// deletion request. It ends the wait for a provider that does not answer, and for a remote
	// namespace that the provider does not finish deleting. Then the deletion continues without
	// them, and an event LeftBehind names what stays in the provider. Spillway deletes that once
	// the provider answers again, if the ClusterBinding still exists. While the provider answers,
	// Spillway still waits for pods. A duration of at least 1s, such as 30m. If unset, the wait has
	// no end.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="deletionTimeout must be a duration of at least 1s, such as 30m"
	DeletionTimeout *metav1.Duration `json:"deletionTimeout,omitempty"`
}

// ClusterBindingStatus is the observed state of a ClusterBinding and its provider.
type ClusterBindingStatus struct {
	// conditions are Ready, CredentialsValid, Connected, Fenced, LimitsKnown, VirtualNodeReady,
	// PodAdmission and Network. Others are present only at times. MountNamespaceReady: if
	// mountNamespace is set. ClassesReady: if spec.classes has another kind than LoadBalancer and
	// Gateway. ConsumerAPI: if consumerAPI is set. Grouped: if virtualNode.groupBy is set. Elastic:
	// if virtualNode.elastic is set.
	// Limited: while a right to read is missing.
	// ClockSkewed: while the provider's clock differs from the manager's. WritesRefused: while the
	// consumer's API server refuses a write of the manager. VersionSkew: while the
	// CustomResourceDefinitions and the manager have different versions. ProviderShared: while
	// another ClusterBinding leads to the same provider, or may do so. Drained: while the
	// ClusterBinding is being deleted.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// remoteClusterUID identifies the provider: it is the UID of the provider's kube-system
	// namespace at the first connection. If another cluster answers later, Spillway refuses it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RemoteClusterUID string `json:"remoteClusterUID,omitempty"`

	// remoteClusterAuthorities are hashes of the keys of certificate authorities. These authorities
	// vouched for the provider when it reported its UID. The latest comes last, and unused ones
	// stay. Two ClusterBindings lead to the same provider if they share the UID and one of these
	// hashes. At most 8.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=64
	RemoteClusterAuthorities []string `json:"remoteClusterAuthorities,omitempty"`

	// kubernetesVersion is the version of the provider's API server, such as v1.36.3.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// lastHeartbeatTime is when the provider last answered before the condition Connected last
	// changed. It does not change while Connected stays the same. The Lease of the virtual node
	// shows each answer.
	// +optional
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`

	// credentialsExpirationTime is when the token or the client certificate in the kubeconfig
	// Secret expires. It is unset if the Secret does not say when. If the credentials last less
	// than a day, it is set only in the last fifth of their lifetime.
	// +optional
	CredentialsExpirationTime *metav1.Time `json:"credentialsExpirationTime,omitempty"`

	// holder is the manager that works in the provider, as recorded when a manager last took the
	// Lease there.
	// +optional
	Holder HolderStatus `json:"holder,omitzero"`

	// namespaces counts the remote namespaces.
	// +optional
	Namespaces NamespaceCounts `json:"namespaces,omitzero"`

	// classes are the provider's classes that spec.classes imports, as far as they exist. Spillway
	// creates the imported classes in the consumer from them.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=remoteName
	// +kubebuilder:validation:MaxItems=64
	Classes []ClassStatus `json:"classes,omitempty"`

	// quota is how much of each item of spec.quota is used. It is written at most every 10 to 30 seconds.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Quota []QuotaStatus `json:"quota,omitempty"`

	// virtualNodes are the virtual nodes of the provider.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	VirtualNodes []VirtualNodeStatus `json:"virtualNodes,omitempty"`
}

// NamespaceCounts counts remote namespaces.
type NamespaceCounts struct {
	// desired is the number of remote namespaces that the NamespaceMap asks for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Desired *int32 `json:"desired,omitempty"`
	// ready is how many of the desired remote namespaces exist.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Ready *int32 `json:"ready,omitempty"`
	// summary is ready/desired, such as 1/2, for the column of kubectl get.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Summary string `json:"summary,omitempty"`
}

// ClusterBinding binds a provider cluster. It says how to reach the provider, what its virtual node
// shows, and what happens to the remote objects when the ClusterBinding is deleted.
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

// Drains reports whether Spillway deletes the remote objects when the binding is deleted. It
// returns false for an unknown policy, which belongs to a newer version.
func (s *ClusterBindingSpec) Drains() bool {
	return s.DeletionPolicy == DeletionPolicyDrain || s.DeletionPolicy == ""
}

// VirtualNodeName returns the name of the provider's virtual node.
func (b *ClusterBinding) VirtualNodeName() string { return VirtualNodePrefix + b.Spec.ClusterID }

func init() { SchemeBuilder.Register(&ClusterBinding{}, &ClusterBindingList{}) }
