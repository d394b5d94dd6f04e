package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MappingPhase is the phase of a remote namespace.
// +kubebuilder:validation:Enum=Accepted;CreationLoopBackOff;Terminating
type MappingPhase string

const (
	// MappingAccepted: the remote namespace exists and belongs to Spillway.
	MappingAccepted MappingPhase = "Accepted"
	// MappingCreationLoopBackOff: the remote namespace could not be created, or belongs to somebody
	// else. Spillway retries with a back-off.
	MappingCreationLoopBackOff MappingPhase = "CreationLoopBackOff"
	// MappingTerminating: Spillway or somebody else is deleting the remote namespace.
	MappingTerminating MappingPhase = "Terminating"
)

// Reasons of an entry of status.currentMapping.
const (
	// ReasonNamespaceActive: the remote namespace exists and is active.
	ReasonNamespaceActive = "NamespaceActive"
	// ReasonNameConflict: a namespace of that name exists and does not belong to this mapping.
	ReasonNameConflict = "NameConflict"
	// ReasonNameTaken: another local namespace asked for that name first.
	ReasonNameTaken = "NameTaken"
	// ReasonNameReserved: the name belongs to the provider or to Spillway.
	ReasonNameReserved = "NameReserved"
	// ReasonCreationFailed: the provider refused to create the namespace.
	ReasonCreationFailed = "CreationFailed"
	// ReasonNamespaceTerminating: somebody is deleting the remote namespace in the provider
	// although it is required. Spillway recreates it when it is gone.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonNotRequired: Spillway is deleting the remote namespace, because it is no longer
	// required.
	ReasonNotRequired = "NotRequired"
	// ReasonDeletionFailed: the provider refused to delete the namespace.
	ReasonDeletionFailed = "DeletionFailed"
)

// NamespaceMapSpec says which remote namespaces one provider should have.
type NamespaceMapSpec struct {
	// desiredMapping lists the local namespaces that are offloaded to the provider, in the order in
	// which they were offloaded. Only the namespaceoffloading controller writes it.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +kubebuilder:validation:MaxItems=10000
	DesiredMapping []DesiredMapping `json:"desiredMapping,omitempty"`
}

// DesiredMapping asks for one remote namespace.
type DesiredMapping struct {
	// namespace is the name of the local namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// remoteNamespace is the name of the remote namespace that represents it in the provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	RemoteNamespace string `json:"remoteNamespace,omitempty"`
}

// NamespaceMapStatus says which remote namespaces one provider has.
type NamespaceMapStatus struct {
	// observedGeneration is the metadata.generation that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// currentMapping is the source of truth about the remote namespaces of the provider, with one
	// entry for each local namespace. Spillway removes an entry when its remote namespace is gone.
	// The list is atomic because it has one writer: recording the owner of each field would need
	// more space than the entries.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	CurrentMapping []CurrentMapping `json:"currentMapping,omitempty"`
	// desired is how many remote namespaces the provider should have.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Desired *int32 `json:"desired,omitempty"`
	// ready is how many of the desired remote namespaces exist.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Ready *int32 `json:"ready,omitempty"`
	// failed is how many of the desired remote namespaces are in the phase CreationLoopBackOff.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Failed *int32 `json:"failed,omitempty"`
	// leavingPods counts, for each local namespace, the pods that must leave the virtual node.
	// Until they have left, the remote namespace or the NamespaceOffloading cannot be deleted. It
	// is set only if several replicas of the manager share the ClusterBindings. Then the replica
	// that decides about NamespaceOffloadings does not watch these pods itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10000
	LeavingPods []LeavingPods `json:"leavingPods,omitempty"`
}

// LeavingPods counts the pods of one local namespace that must leave a virtual node.
type LeavingPods struct {
	// namespace is the name of the local namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// count of the pods that are still on the virtual node.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count *int32 `json:"count,omitempty"`
	// names of the first few of these pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	Names []string `json:"names,omitempty"`
	// refused says why the API server refuses to evict pods, for the first few of those.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=1024
	Refused []string `json:"refused,omitempty"`
}

// CurrentMapping describes one remote namespace.
type CurrentMapping struct {
	// namespace is the name of the local namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// remoteNamespace is the name of the remote namespace that represents it in the provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	RemoteNamespace string `json:"remoteNamespace,omitempty"`
	// phase of the remote namespace.
	// +required
	Phase MappingPhase `json:"phase,omitempty"`
	// reason of the phase, in one word.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message explains the phase and the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// since is when the phase last changed. It stays when only the reason changes.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// NamespaceMap lists the remote namespaces that one provider should have, and those that exist.
// There is one per ClusterBinding, with the same name. Only Spillway writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=nsm,categories=spillway
// +kubebuilder:printcolumn:name="Cluster ID",type=string,JSONPath=`.metadata.labels.spillway\.io/cluster`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.desired`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NamespaceMap struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is the desired state.
	// +optional
	Spec NamespaceMapSpec `json:"spec,omitzero"`
	// status is the observed state.
	// +optional
	Status NamespaceMapStatus `json:"status,omitzero"`
}

// NamespaceMapList is a list of NamespaceMaps.
// +kubebuilder:object:root=true
type NamespaceMapList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NamespaceMap `json:"items"`
}

func init() { SchemeBuilder.Register(&NamespaceMap{}, &NamespaceMapList{}) }
