package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HostedClusterStatus is the observed state of a hosted cluster. It holds values of fields as JSON
// text. A field that is empty or missing has the value null.
type HostedClusterStatus struct {
	// conditions are Ready, CredentialsValid, Synced, Updating and InSync, and Bound with
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

	// upstreamUID identifies the cluster in the cloud. A later cluster of the same name has another
	// one.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	UpstreamUID string `json:"upstreamUID,omitempty"`

	// location is the region or zone of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Location string `json:"location,omitempty"`

	// kubernetesVersion is the version of the control plane.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// upstreamSpec is the configuration in the cloud, as the operator last read it.
	// +optional
	UpstreamSpec ClusterConfig `json:"upstreamSpec,omitzero"`

	// effective is the effective configuration: upstreamSpec, with the fields that the spec sets,
	// except those that the cloud's value has superseded.
	// +optional
	Effective ClusterConfig `json:"effective,omitzero"`

	// managed lists the fields that the spec sets, with their states. Spillway manages only these.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Managed []ManagedField `json:"managed,omitempty"`

	// base lists the values that both sides had when they last agreed.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Base []BaseField `json:"base,omitempty"`

	// conflictCount is the number of conflicts.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ConflictCount *int32 `json:"conflictCount,omitempty"`

	// conflicts lists the fields that were changed on both sides and are not yet resolved.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Conflicts []Conflict `json:"conflicts,omitempty"`

	// decisions lists values that Spillway has overwritten without their author's knowledge. The
	// newest comes last. At most 32 are kept.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Decisions []Decision `json:"decisions,omitempty"`

	// operations lists the requests to the cloud that are in progress, in EKS several for different
	// node groups, and requests that were refused or failed. These wait until their retryAt, while others are sent. They are removed when the
	// spec no longer needs them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Operations []Operation `json:"operations,omitempty"`
}

// ManagedField is a field that the spec sets.
type ManagedField struct {
	// path of the field, such as nodePools["workers"].count.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// state of the field: Agreed, Pushed, Superseded, WrittenBack, Drifted, Conflict, Floating (the
	// value changes by itself) or ImmutableDiffers (the sides differ, and the field cannot be
	// changed).
	// +required
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`
}

// BaseField holds the values that both sides had of a field when they last agreed.
type BaseField struct {
	// path of the field.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// spec is the value in the spec. It is unset if the spec did not set the field.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Spec *string `json:"spec,omitempty"`

	// upstream is the value in the cloud.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Upstream string `json:"upstream,omitempty"`
}

// Conflict is a field that was changed on both sides.
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

	// upstreamHash identifies this conflict in spec.sync.resolutions.
	// +required
	// +kubebuilder:validation:MaxLength=64
	UpstreamHash string `json:"upstreamHash,omitempty"`

	// since is when the operator first saw the conflict.
	// +required
	Since metav1.Time `json:"since,omitzero"`
}

// Decision is a value that Spillway has overwritten without its author's knowledge.
type Decision struct {
	// path of the field.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// take is the side that won: Spec or Upstream.
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

	// time is when Spillway decided.
	// +required
	Time metav1.Time `json:"time,omitzero"`
}

// Operation is a request to the cloud that is in progress, was refused, or failed.
type Operation struct {
	// requestToken ensures that the cloud carries the request out only once, if the cloud supports
	// tokens.
	// +required
	// +kubebuilder:validation:MaxLength=64
	RequestToken string `json:"requestToken,omitempty"`

	// cloudID is the cloud's name for the operation. It is unset until the cloud has answered.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	CloudID string `json:"cloudID,omitempty"`

	// call is the name of the request.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Call string `json:"call,omitempty"`

	// item is the path of the pool that the request changes. It is unset if the request changes the
	// cluster itself.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Item string `json:"item,omitempty"`

	// message says why the cloud refused the request, or why the operation failed. It is unset
	// while the operation is in progress.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// reason says why the cloud last refused the request. RightMissing: the credentials lack a right.
	// Busy: the cloud was doing something else or throttled requests, or the cluster had changed. It
	// is unset for other failures, and once the cloud accepts the request.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// retryAt is when the request is sent again. If its values change in the spec, it is sent at
	// once. It is unset while the operation is in progress.
	// +optional
	RetryAt *metav1.Time `json:"retryAt,omitempty"`

	// pause is how long the request waits after its last failure. Some requests wait twice as long
	// after each failure.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	Pause *metav1.Duration `json:"pause,omitempty"`

	// version is the version of the cluster or pool on which the request is based, as the operator
	// read it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// sent lists the values that the request sends.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=4096
	Sent []SentField `json:"sent,omitempty"`

	// startedAt is when Spillway decided to send the request.
	// +required
	StartedAt metav1.Time `json:"startedAt,omitzero"`
}

// InFlight returns the first request that may have been carried out, and whose result was not read yet; nil if
// there is none.
func (s *HostedClusterStatus) InFlight() *Operation {
	for i := range s.Operations {
		if s.Operations[i].Message == "" {
			return &s.Operations[i]
		}
	}
	return nil
}

// AllInFlight returns all such requests.
func (s *HostedClusterStatus) AllInFlight() []Operation {
	var all []Operation
	for _, op := range s.Operations {
		if op.Message == "" {
			all = append(all, op)
		}
	}
	return all
}

// Operation returns the request with this token; nil if there is none.
func (s *HostedClusterStatus) Operation(token string) *Operation {
	for i := range s.Operations {
		if s.Operations[i].RequestToken == token {
			return &s.Operations[i]
		}
	}
	return nil
}

// SentField is a value that a request sends.
type SentField struct {
	// path of the field.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// value that the request sends.
	// +required
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value,omitempty"`
}
