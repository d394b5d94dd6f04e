package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostedClusterStatus is the observed state of a hosted cluster. Values of fields in it are
// JSON text; null is for what is empty or not there.
type HostedClusterStatus struct {
	// conditions: Ready, CredentialsValid, Synced, Updating, InSync, and Bound with a
	// spec.binding.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the metadata.generation that the status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// cloud is EKS, AKS or GKE.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Cloud string `json:"cloud,omitempty"`

	// upstreamUID tells the cluster in the cloud from another one of the same name.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	UpstreamUID string `json:"upstreamUID,omitempty"`

	// location is the region or zone of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Location string `json:"location,omitempty"`

	// kubernetesVersion is that of the control plane.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// upstreamSpec is the configuration in the cloud, as it was last read.
	// +optional
	UpstreamSpec ClusterConfig `json:"upstreamSpec,omitzero"`

	// effective is upstreamSpec plus all fields that the spec sets, but those that the
	// cloud's value has superseded.
	// +optional
	Effective ClusterConfig `json:"effective,omitzero"`

	// managed are the fields that the spec sets.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Managed []ManagedField `json:"managed,omitempty"`

	// base is what both sides had when they last agreed.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Base []BaseField `json:"base,omitempty"`

	// conflictCount is the number of conflicts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ConflictCount *int32 `json:"conflictCount,omitempty"`

	// conflicts are the fields that both sides have changed.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Conflicts []Conflict `json:"conflicts,omitempty"`

	// decisions are the last values that were overwritten although their author did not
	// know; the newest comes last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Decisions []Decision `json:"decisions,omitempty"`

	// operation is the request to the cloud that is under way. One that was refused, or has
	// failed, stays until another one follows.
	// +optional
	Operation *Operation `json:"operation,omitempty"`
}

// ManagedField is a field that the spec sets.
type ManagedField struct {
	// path of the field, such as nodePools["workers"].count.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// state is Agreed, Pushed, Superseded, WrittenBack, Drifted, Conflict, Floating (it
	// moves by itself) or ImmutableDiffers.
	// +required
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`
}

// BaseField is what both sides had of a field when they last agreed.
type BaseField struct {
	// path of the field.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// spec is the value in the spec; unset if the spec did not have the field.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Spec *string `json:"spec,omitempty"`

	// upstream is the value in the cloud.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Upstream string `json:"upstream,omitempty"`
}

// Conflict is a field that both sides have changed.
type Conflict struct {
	// path of the field.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// base is the value in the cloud when both sides last agreed.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Base string `json:"base,omitempty"`

	// spec is the value in the spec.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Spec string `json:"spec,omitempty"`

	// upstream is the value in the cloud.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Upstream string `json:"upstream,omitempty"`

	// upstreamHash names this conflict in spec.sync.resolutions.
	// +required
	// +kubebuilder:validation:MaxLength=64
	UpstreamHash string `json:"upstreamHash,omitempty"`

	// since is when it was first seen.
	// +required
	Since metav1.Time `json:"since,omitzero"`
}

// Decision is a value that was overwritten although its author did not know.
type Decision struct {
	// path of the field.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// take is the side that won.
	// +required
	Take Side `json:"take,omitempty"`

	// kept is the value that won.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Kept string `json:"kept,omitempty"`

	// lost is the value that was overwritten.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Lost string `json:"lost,omitempty"`

	// time is when it was decided.
	// +required
	Time metav1.Time `json:"time,omitzero"`
}

// Operation is a request to the cloud that is under way, or that was of no use.
type Operation struct {
	// requestToken makes the cloud carry the request out once, where it knows tokens.
	// +required
	// +kubebuilder:validation:MaxLength=64
	RequestToken string `json:"requestToken,omitempty"`

	// cloudID is the cloud's name for the operation, once it has answered.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	CloudID string `json:"cloudID,omitempty"`

	// call is the request.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Call string `json:"call,omitempty"`

	// item is the path of the pool that is changed; unset for the cluster itself.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Item string `json:"item,omitempty"`

	// message is why the request was refused, or the operation has failed. Unset while it is
	// under way.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// reason is RightMissing if the credentials lack the right to the request. Unset while it is
	// under way, and for any other refusal.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// version is that of what is changed, as it was read.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// sent are the values that it sends.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Sent []SentField `json:"sent,omitempty"`

	// startedAt is when it was decided.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
}

// SentField is a value that is sent.
type SentField struct {
	// path of the field.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// value that is sent.
	// +required
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value,omitempty"`
}
