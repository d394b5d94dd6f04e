package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnschedulableAction says what happens to a pod that cannot run in its provider.
// +kubebuilder:validation:Enum=Replace;Wait
type UnschedulableAction string

const (
	// UnschedulableReplace deletes the pod in the consumer, so that its controller creates another
	// one, which goes elsewhere.
	UnschedulableReplace UnschedulableAction = "Replace"
	// UnschedulableWait leaves the pod where it is, until the provider can run it.
	UnschedulableWait UnschedulableAction = "Wait"
)

// Unschedulable says what happens to a pod that its provider refuses, or that the provider's
// scheduler cannot place.
type Unschedulable struct {
	// action is Replace or Wait. Replace deletes the pod, if its controller is a ReplicaSet or a
	// ReplicationController, it uses no PersistentVolumeClaims, and another place of spec.overflow
	// may take it. Other pods wait. Wait leaves every pod where it is, and forgets status.full.
	// Defaults to Replace.
	// +optional
	// +kubebuilder:default=Replace
	Action UnschedulableAction `json:"action,omitempty"`

	// after is how long a provider must have refused a pod, or failed to place it. From 1s to 1h.
	// Defaults to 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="after must be a duration from 1s to 1h, such as 5m"
	After *metav1.Duration `json:"after,omitempty"`
}

// ReplacesUnschedulable reports whether pods are replaced for which their provider has no room.
func (s *NamespaceOffloadingSpec) ReplacesUnschedulable() bool {
	return len(s.Overflow) > 0 && s.Unschedulable != nil && s.Unschedulable.Action != UnschedulableWait
}

// FullProvider is a provider that has refused pods of the namespace, or could not place them.
type FullProvider struct {
	// cluster is the clusterID of the provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=24
	Cluster string `json:"cluster,omitempty"`

	// until is when pods may try the provider again. If it is unset, they may try now. New pods of any
	// size are created without the toleration of the provider until then. Pods that request less get it
	// at once.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// lastRefusal is when a pod was refused last.
	// +required
	LastRefusal metav1.Time `json:"lastRefusal,omitzero"`

	// refusals is how often the provider has refused such pods after a back-off. The back-off is a
	// minute for the first, and doubles with each, up to 30 minutes.
	// +required
	// +kubebuilder:validation:Minimum=1
	Refusals int32 `json:"refusals,omitempty"`

	// requests are what the smallest refused pod requests. Pods that request as much of each resource,
	// or more, are kept away. Without requests, all pods are. At most 16.
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// reason is Rejected, Unschedulable, TooBig, NoNewNode or QuotaExceeded.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is what the provider said about the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

const (
	// OffloadingFull is the condition of a NamespaceOffloading that is present, and True, only while a
	// provider of spec.overflow is left out, because it has refused pods of the namespace. The message
	// says which pods, why, and until when.
	OffloadingFull = "Full"
	// ReasonProvidersFull is the reason of OffloadingFull, and of an event of each pod that waits meanwhile:
	// the scheduler finds no room for it in the other providers.
	ReasonProvidersFull = "ProvidersFull"

	// ReasonUnschedulable is a reason of PodOffloaded: the pod is in the provider, whose scheduler finds
	// no node for it.
	ReasonUnschedulable = "Unschedulable"

	// ReasonGivenUp is the reason of an event: a provider has refused a pod, or failed to place it, for
	// spec.unschedulable.after. So Spillway deletes the pod, and its controller creates another one.
	ReasonGivenUp = "GivenUp"
	// ReasonNotReplaced is the reason of an event: a provider has refused a pod, or failed to place it,
	// for spec.unschedulable.after, and the pod stays. The message says why.
	ReasonNotReplaced = "NotReplaced"
)
