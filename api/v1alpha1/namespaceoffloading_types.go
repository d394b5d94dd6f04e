package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NamespaceMappingStrategy says how remote namespaces are named.
// +kubebuilder:validation:Enum=DefaultName;EnforceSameName;SelectedName
type NamespaceMappingStrategy string

const (
	// MappingDefaultName names the remote namespace after the local one and the consumer:
	// <namespace>-<consumer ID>. The default.
	MappingDefaultName NamespaceMappingStrategy = "DefaultName"
	// MappingEnforceSameName gives the remote namespace the name of the local one.
	MappingEnforceSameName NamespaceMappingStrategy = "EnforceSameName"
	// MappingSelectedName gives the remote namespace the name in spec.remoteNamespaceName.
	MappingSelectedName NamespaceMappingStrategy = "SelectedName"
)

// PodOffloadingStrategy says where pods of the namespace may run.
// +kubebuilder:validation:Enum=Local;Remote;LocalAndRemote;LocalFirst
type PodOffloadingStrategy string

const (
	// PodsLocal keeps pods on the consumer's own nodes. Spillway still creates the remote
	// namespaces.
	PodsLocal PodOffloadingStrategy = "Local"
	// PodsRemote lets pods run only on the selected virtual nodes.
	PodsRemote PodOffloadingStrategy = "Remote"
	// PodsLocalAndRemote lets pods run on both kinds of nodes, as the scheduler decides. The
	// default.
	PodsLocalAndRemote PodOffloadingStrategy = "LocalAndRemote"
	// PodsLocalFirst is LocalAndRemote with a strong preference for the consumer's own nodes. Pods
	// go to virtual nodes when those are full.
	PodsLocalFirst PodOffloadingStrategy = "LocalFirst"
)

// OffloadingPhase summarises a NamespaceOffloading.
// +kubebuilder:validation:Enum=Ready;NoClusterSelected;Refused;InProgress;SomeFailed;AllFailed;Terminating
type OffloadingPhase string

const (
	// OffloadingPhaseReady: every required remote namespace exists.
	OffloadingPhaseReady OffloadingPhase = "Ready"
	// OffloadingPhaseNoClusterSelected: the selector selects no ClusterBinding.
	OffloadingPhaseNoClusterSelected OffloadingPhase = "NoClusterSelected"
	// OffloadingPhaseRefused: the namespace is never offloaded, or the selector
	// cannot be evaluated.
	OffloadingPhaseRefused OffloadingPhase = "Refused"
	// OffloadingPhaseInProgress: some remote namespaces have not been created yet, and none has
	// failed.
	OffloadingPhaseInProgress OffloadingPhase = "InProgress"
	// OffloadingPhaseSomeFailed: some remote namespaces could not be created.
	OffloadingPhaseSomeFailed OffloadingPhase = "SomeFailed"
	// OffloadingPhaseAllFailed: no remote namespace could be created.
	OffloadingPhaseAllFailed OffloadingPhase = "AllFailed"
	// OffloadingPhaseTerminating: the NamespaceOffloading is being deleted.
	OffloadingPhaseTerminating OffloadingPhase = "Terminating"
)

const (
	// OffloadingReady is the condition of a NamespaceOffloading that is True only in the phase
	// Ready. Its reason is the phase, or ReasonRefused. While the NamespaceOffloading is being
	// deleted, its reason is the step: EvictingPods, DeletingNamespaces or ProviderUnreachable.
	OffloadingReady = "Ready"
	// ReasonRefused: the namespace is never offloaded, or the selector is invalid. The message says
	// which.
	ReasonRefused = "Refused"

	// OffloadingPodsCurrent is present, and False, only while pods of the namespace wait for a node
	// with the affinity of an earlier spec of the offloading. The message names these pods.
	OffloadingPodsCurrent = "PodsCurrent"
	// ReasonPodsOutdated is the reason of OffloadingPodsCurrent, and of an event that names the same
	// pods.
	ReasonPodsOutdated = "PodsOutdated"
	// ReasonEvictionsRefused is the reason of BindingDrained, and of events: the API server refuses
	// to evict pods that must leave.
	ReasonEvictionsRefused = "EvictionsRefused"
	// ReasonPodStranded is the reason of an event about a pod that waits for a virtual node
	// although its namespace is no longer offloaded, and that no controller recreates.
	ReasonPodStranded = "PodStranded"

	// RemoteNamespaceRequired is the condition of a remote namespace that reports whether the
	// NamespaceOffloading asks for it.
	RemoteNamespaceRequired = "OffloadingRequired"
	// RemoteNamespaceReady is the condition of a remote namespace that reports whether it exists.
	// It has the reason of the entry in the NamespaceMap.
	RemoteNamespaceReady = "Ready"

	// ReasonClusterSelected: the selector selects the ClusterBinding.
	ReasonClusterSelected = "ClusterSelected"
	// ReasonClusterNotSelected: the selector does not, or no longer, select the ClusterBinding.
	ReasonClusterNotSelected = "ClusterNotSelected"
	// ReasonPending: the remote namespace has not been created yet.
	ReasonPending = "Pending"
)

// NamespaceOffloadingSpec says where and how a team offloads its namespace.
//
// +kubebuilder:validation:XValidation:rule="!has(self.namespaceMappingStrategy) || self.namespaceMappingStrategy != 'SelectedName' || has(self.remoteNamespaceName)",fieldPath=".remoteNamespaceName",reason=FieldValueRequired,message="remoteNamespaceName is required with namespaceMappingStrategy SelectedName"
// +kubebuilder:validation:XValidation:rule="!has(self.remoteNamespaceName) || (has(self.namespaceMappingStrategy) && self.namespaceMappingStrategy == 'SelectedName')",fieldPath=".remoteNamespaceName",reason=FieldValueForbidden,message="remoteNamespaceName is allowed only with namespaceMappingStrategy SelectedName"
// +kubebuilder:validation:XValidation:rule="has(self.remoteNamespaceName) == has(oldSelf.remoteNamespaceName)",fieldPath=".remoteNamespaceName",message="remoteNamespaceName is immutable: it cannot be added or removed"
// +kubebuilder:validation:XValidation:rule="!has(self.overflow) || !has(self.clusterSelector)",fieldPath=".clusterSelector",reason=FieldValueForbidden,message="clusterSelector is not allowed with overflow, whose tiers have selectors of their own: set it to null in the write that sets overflow"
// +kubebuilder:validation:XValidation:rule="!has(self.overflow) || !has(self.podOffloadingStrategy) || self.podOffloadingStrategy == (has(self.overflow[0].local) && self.overflow[0].local ? 'LocalAndRemote' : 'Remote')",fieldPath=".podOffloadingStrategy",message="overflow needs podOffloadingStrategy LocalAndRemote if its first tier is local, and Remote if not"
// +kubebuilder:validation:XValidation:rule="!has(self.__return__) || has(self.overflow)",fieldPath=".return",reason=FieldValueForbidden,message="return is allowed only with overflow: without tiers, pods have nowhere to return to"
// +kubebuilder:validation:XValidation:rule="!has(self.unschedulable) || has(self.overflow)",fieldPath=".unschedulable",reason=FieldValueForbidden,message="unschedulable is allowed only with overflow: without tiers, pods tolerate every provider, and would go back to the one that refused them"
type NamespaceOffloadingSpec struct {
	// namespaceMappingStrategy says how the remote namespaces are named. DefaultName appends the ID
	// of the consumer to the local name. EnforceSameName uses the local name. SelectedName uses
	// remoteNamespaceName. Defaults to DefaultName. Immutable.
	// +optional
	// +kubebuilder:default=DefaultName
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="namespaceMappingStrategy is immutable: delete and recreate the NamespaceOffloading"
	NamespaceMappingStrategy NamespaceMappingStrategy `json:"namespaceMappingStrategy,omitempty"`

	// remoteNamespaceName is the name of the remote namespaces. Required with
	// namespaceMappingStrategy SelectedName, and forbidden with others. A DNS label of at most 63
	// characters. Immutable.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="remoteNamespaceName is immutable: delete and recreate the NamespaceOffloading"
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="remoteNamespaceName must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('kube-') && self != 'default'",message="remoteNamespaceName must not be 'default' or begin with 'kube-': the provider uses those"
	RemoteNamespaceName string `json:"remoteNamespaceName,omitempty"`

	// podOffloadingStrategy says where new pods of the namespace may run. Local: on the consumer's
	// own nodes. Remote: on the selected virtual nodes. LocalAndRemote: on both. LocalFirst: on
	// both, and preferably on the consumer's own nodes. Defaults to LocalAndRemote.
	// +optional
	// +kubebuilder:default=LocalAndRemote
	PodOffloadingStrategy PodOffloadingStrategy `json:"podOffloadingStrategy,omitempty"`

	// clusterSelector selects the providers by the labels that their ClusterBindings give the
	// virtual nodes. It ignores labels that somebody adds to a Node. If it is unset or empty, it
	// selects all providers.
	// +optional
	ClusterSelector *ClusterSelector `json:"clusterSelector,omitempty"`

	// overflow is the order in which new pods use nodes: the first tier alone, and the next one only
	// while the scheduler finds no room in the tiers before. It takes the place of clusterSelector.
	// The first tier may be local, with podOffloadingStrategy LocalAndRemote. Without a local tier,
	// podOffloadingStrategy must be Remote. From 1 to 8 tiers, at least one of them with a
	// clusterSelector, and at most 8 terms with 128 values in all selectors together. A change moves
	// no pod that has a node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.local) || !t.local) || self.filter(t, has(t.local) && t.local).size() == 1 && has(self[0].local) && self[0].local",message="only the first tier can be local"
	// +kubebuilder:validation:XValidation:rule="self.exists(t, has(t.clusterSelector))",message="overflow needs a tier with a clusterSelector"
	// +kubebuilder:validation:XValidation:rule="!has(self[0].after)",message="after must not be set for the first tier: every pod may use it at once"
	// +kubebuilder:validation:XValidation:rule="self.map(t, has(t.clusterSelector) && has(t.clusterSelector.nodeSelectorTerms) ? size(t.clusterSelector.nodeSelectorTerms) : 0).sum() <= 8",message="overflow must have at most 8 nodeSelectorTerms in all its tiers together"
	// +kubebuilder:validation:XValidation:rule="self.map(t, has(t.clusterSelector) && has(t.clusterSelector.nodeSelectorTerms) ? t.clusterSelector.nodeSelectorTerms.map(s, s.matchExpressions.map(r, has(r.values) ? size(r.values) : 0).sum()).sum() : 0).sum() <= 128",message="overflow must have at most 128 values in all its tiers together"
	Overflow []OverflowTier `json:"overflow,omitempty"`

	// unschedulable says what happens to a pod that its provider refuses, or that the provider's
	// scheduler cannot place, for lack of room. Only with overflow. If it is unset, such pods wait.
	// +optional
	Unschedulable *Unschedulable `json:"unschedulable,omitempty"`

	// return moves pods back to earlier tiers of overflow once those have had room for a while.
	// Spillway evicts one pod at a time, from the last tier first, and its ReplicaSet creates another.
	// PodDisruptionBudgets hold. If it is unset, pods stay where they run.
	// +optional
	Return *ReturnPolicy `json:"return,omitempty"`

	// resources are the kinds of objects that Spillway sends in addition to the pods and what these
	// refer to: Services, NetworkPolicies, PodDisruptionBudgets. Defaults to [Services,
	// NetworkPolicies]. An empty list sends none. If you remove a kind from the list, Spillway
	// deletes its copies from the providers. Without NetworkPolicies, the provider alone decides
	// who may talk to the remote pods. The label or annotation spillway.io/sync=never keeps a
	// single object in the consumer.
	// +optional
	// +listType=set
	// +kubebuilder:default={Services,NetworkPolicies}
	// +kubebuilder:validation:MaxItems=16
	Resources []OffloadedResource `json:"resources,omitzero"`

	// apiAccess says which pods use the API of the consumer from a provider. Defaults to none: pods
	// run without the token of their ServiceAccount. It counts for pods that are not sent yet.
	// +optional
	APIAccess APIAccess `json:"apiAccess,omitzero"`
}

// NamespaceOffloadingStatus is the observed state of a NamespaceOffloading.
type NamespaceOffloadingStatus struct {
	// conditions are Ready, with spec.overflow Overflow, with spec.return Returns, and four that are present only at times.
	// ProvidersReachable: while a provider cannot be reached, or its ClusterBinding is paused.
	// PodsCurrent: while pods wait for a node with the affinity of an earlier spec. PodsFit: while pods
	// wait although they may use every tier of spec.overflow. Full: while a provider is left out because
	// it has refused pods.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// offloadingPhase summarises the remote namespaces: Ready, NoClusterSelected, Refused,
	// InProgress, SomeFailed, AllFailed or Terminating.
	// +optional
	OffloadingPhase OffloadingPhase `json:"offloadingPhase,omitempty"`

	// remoteNamespaceName is the name of the remote namespaces, also before they exist.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RemoteNamespaceName string `json:"remoteNamespaceName,omitempty"`

	// remoteNamespaceConditions describes each remote namespace. There is one per provider.
	// +optional
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=256
	RemoteNamespaceConditions []RemoteNamespaceStatus `json:"remoteNamespaceConditions,omitempty"`

	// overflow says which providers are in each tier of spec.overflow. New pods tolerate the virtual
	// nodes of the first tier that has any.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Overflow []OverflowTierStatus `json:"overflow,omitempty"`

	// full are the providers of spec.overflow that have refused pods of the namespace, or could not
	// place them. An entry is removed once a pod of that size runs there, or an hour after its back-off
	// has ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Full []FullProvider `json:"full,omitempty"`

	// lastReturn is the last pod that was evicted because of spec.return, and how that went.
	// +optional
	LastReturn *LastReturn `json:"lastReturn,omitempty"`
}

// RemoteNamespaceStatus describes one remote namespace.
type RemoteNamespaceStatus struct {
	// cluster is the clusterID of the provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	Cluster string `json:"cluster,omitempty"`
	// remoteNamespace is the name of the namespace in the provider.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RemoteNamespace string `json:"remoteNamespace,omitempty"`
	// conditions are OffloadingRequired and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NamespaceOffloading opts its namespace in: the pods of the namespace may then run in the selected
// providers. There is one per namespace, named offloading.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=nso,categories=spillway
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'offloading'",fieldPath=".metadata",message="a NamespaceOffloading must be named 'offloading': there is one per namespace"
// +kubebuilder:printcolumn:name="Mapping",type=string,JSONPath=`.spec.namespaceMappingStrategy`
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.spec.podOffloadingStrategy`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.offloadingPhase`
// +kubebuilder:printcolumn:name="Reachable",type=string,JSONPath=`.status.conditions[?(@.type=="ProvidersReachable")].status`,description="False while a provider is away; empty while none is"
// +kubebuilder:printcolumn:name="Remote Namespace",type=string,JSONPath=`.status.remoteNamespaceName`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NamespaceOffloading struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// spec is the desired state. If it is unset, the defaults apply.
	// +optional
	// +kubebuilder:default={}
	Spec NamespaceOffloadingSpec `json:"spec,omitzero"`
	// status is the observed state.
	// +optional
	Status NamespaceOffloadingStatus `json:"status,omitzero"`
}

// NamespaceOffloadingList is a list of NamespaceOffloadings.
// +kubebuilder:object:root=true
type NamespaceOffloadingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NamespaceOffloading `json:"items"`
}

func init() { SchemeBuilder.Register(&NamespaceOffloading{}, &NamespaceOffloadingList{}) }
