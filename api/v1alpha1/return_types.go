package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReturnPolicy says when pods return to earlier tiers of spec.overflow, and how many.
type ReturnPolicy struct {
	// after is how long an earlier tier must have had room for a pod. From 1m to 24h. Defaults to 10m. It is
	// doubled each time a return fails, up to 16 times as long: the tier that the pod had left was opened
	// again soon after, or the pod that replaces it did not become Ready.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="after must be a duration from 1m to 24h, such as 10m"
	After *metav1.Duration `json:"after,omitempty"`

	// perMinute is how many pods return in a minute, at most. From 1 to 60. Defaults to 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	PerMinute int32 `json:"perMinute,omitempty"`
}

// LastReturn is the last return of a pod. A manager that starts reads from it when the next pod may return.
type LastReturn struct {
	// time is when the pod was evicted.
	// +required
	Time metav1.Time `json:"time,omitzero"`
	// pod is the name of the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`
	// owner is the UID of its ReplicaSet. The next pod returns once a new pod of it is Ready.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Owner string `json:"owner,omitempty"`
	// fromTier is the tier that the pod has left. Tiers are counted from 0.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=7
	FromTier int32 `json:"fromTier,omitempty"`
	// failed: a pod of the namespace has opened that tier again soon after, or the successor of the pod
	// did not become Ready.
	// +optional
	Failed bool `json:"failed,omitempty"`
	// failures is how often spec.return.after is doubled now: once for each return that failed, less
	// one for each that did not. At most 4.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=4
	Failures int32 `json:"failures,omitempty"`
}

const (
	// OffloadingReturns is the condition of a NamespaceOffloading with spec.return. It is False while
	// pods run in later tiers and none of them moves. The reason and the message say why.
	OffloadingReturns = "Returns"
	// ReasonAllInPlace: no pod runs in a later tier than necessary.
	ReasonAllInPlace = "AllInPlace"
	// ReasonReturning: pods return. It is also the reason of an event of a pod that is evicted for that.
	ReasonReturning = "Returning"
	// ReasonPodsWait: pods of the namespace wait for a node, or are to be replaced because their provider has
	// no room for them. They go first.
	ReasonPodsWait = "PodsWait"
	// ReasonNoRoom: no earlier tier has room for any of the pods.
	ReasonNoRoom = "NoRoom"
	// ReasonRoomTooNew: an earlier tier has room, but not for long enough yet.
	ReasonRoomTooNew = "RoomTooNew"
	// ReasonSuccessorNotReady: the pod that replaces the last one that returned is not Ready yet.
	ReasonSuccessorNotReady = "SuccessorNotReady"
	// ReasonReturnFailed: the tier that a pod had left was opened again soon after, or its successor did not
	// become Ready, so the next return waits longer.
	ReasonReturnFailed = "ReturnFailed"
	// ReasonNotMovable: none of the pods in later tiers may be evicted, because nobody would create
	// another one, or that one could not start elsewhere.
	ReasonNotMovable = "NotMovable"
	// ReasonRoomUnknown: for a minute, the manager has not known the pods on the virtual node of a
	// provider, or the consumer's own nodes.
	ReasonRoomUnknown = "RoomUnknown"
	// ReasonBindingsShared: replicas of the manager share the ClusterBindings, so none of them knows
	// the room in all tiers.
	ReasonBindingsShared = "BindingsShared"
)
