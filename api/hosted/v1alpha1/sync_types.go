package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ExternalPolicy says what happens to a managed field that was changed in the cloud only.
// +kubebuilder:validation:Enum=PreferUpstream;PreferSpec;Report
type ExternalPolicy string

const (
	// ExternalPreferUpstream lets the cloud's value hold. The default.
	ExternalPreferUpstream ExternalPolicy = "PreferUpstream"
	// ExternalPreferSpec sends the spec's value again.
	ExternalPreferSpec ExternalPolicy = "PreferSpec"
	// ExternalReport does nothing but say so.
	ExternalReport ExternalPolicy = "Report"
)

// ConflictPolicy says what happens to a managed field that was changed on both sides.
// +kubebuilder:validation:Enum=Report;PreferSpec;PreferUpstream
type ConflictPolicy string

const (
	// ConflictReport freezes the field until spec.sync.resolutions decides. The default.
	ConflictReport ConflictPolicy = "Report"
	// ConflictPreferSpec sends the spec's value.
	ConflictPreferSpec ConflictPolicy = "PreferSpec"
	// ConflictPreferUpstream lets the cloud's value hold.
	ConflictPreferUpstream ConflictPolicy = "PreferUpstream"
)

// WriteBack says whether the cloud's value, where it holds, is written to the spec.
// +kubebuilder:validation:Enum=Never;Always
type WriteBack string

const (
	// WriteBackNever leaves the spec as it is. The field is Superseded. The default.
	WriteBackNever WriteBack = "Never"
	// WriteBackAlways overwrites the spec, as Rancher does.
	WriteBackAlways WriteBack = "Always"
)

// Side is one of the two that a resolution takes.
// +kubebuilder:validation:Enum=Spec;Upstream
type Side string

const (
	// SideSpec takes the spec's value.
	SideSpec Side = "Spec"
	// SideUpstream takes the cloud's value.
	SideUpstream Side = "Upstream"
)

// Sync says how changes on the two sides are brought together.
type Sync struct {
	// interval is the time between two reads of the cluster, give or take 10 %. Such as 5m,
	// which is the default; from 1m to 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="interval must be a duration from 1m to 24h, such as 5m"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// external is about fields that were changed in the cloud only. Defaults to
	// PreferUpstream.
	// +optional
	External ExternalPolicy `json:"external,omitempty"`

	// conflict is about fields that were changed on both sides. Defaults to Report.
	// +optional
	Conflict ConflictPolicy `json:"conflict,omitempty"`

	// writeBack says whether the cloud's value, where it holds, is written to the spec.
	// Defaults to Never.
	// +optional
	WriteBack WriteBack `json:"writeBack,omitempty"`

	// overrides are policies for some fields. Of several that fit a field, the one with the
	// longest path holds.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`

	// resolutions decide single conflicts. One that is for another conflict than that of
	// now decides nothing.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	Resolutions []Resolution `json:"resolutions,omitempty"`
}

// Override is a policy for a field and all that is below it.
type Override struct {
	// path is that of the field, without the name of the cloud's configuration, as in
	// status.managed: tags, tags["owner"] or nodePools["workers"].count.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// external is about changes in the cloud only. Unset: as in spec.sync.
	// +optional
	External ExternalPolicy `json:"external,omitempty"`

	// conflict is about changes on both sides. Unset: as in spec.sync.
	// +optional
	Conflict ConflictPolicy `json:"conflict,omitempty"`
}

// Resolution decides one conflict.
type Resolution struct {
	// path is that of the conflict in status.conflicts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// take is the side whose value holds.
	// +required
	Take Side `json:"take,omitempty"`

	// upstreamHash is that of the conflict in status.conflicts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UpstreamHash string `json:"upstreamHash,omitempty"`
}
