package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ExternalPolicy says what happens to a managed field that was changed only in the cloud.
// +kubebuilder:validation:Enum=PreferUpstream;PreferSpec;Report
type ExternalPolicy string

const (
	// ExternalPreferUpstream accepts the cloud's value. The default.
	ExternalPreferUpstream ExternalPolicy = "PreferUpstream"
	// ExternalPreferSpec sends the spec's value again.
	ExternalPreferSpec ExternalPolicy = "PreferSpec"
	// ExternalReport only reports the change.
	ExternalReport ExternalPolicy = "Report"
)

// ConflictPolicy says what happens to a managed field that was changed on both sides.
// +kubebuilder:validation:Enum=Report;PreferSpec;PreferUpstream
type ConflictPolicy string

const (
	// ConflictReport freezes the field until spec.sync.resolutions resolves the conflict. The
	// default.
	ConflictReport ConflictPolicy = "Report"
	// ConflictPreferSpec sends the spec's value.
	ConflictPreferSpec ConflictPolicy = "PreferSpec"
	// ConflictPreferUpstream accepts the cloud's value.
	ConflictPreferUpstream ConflictPolicy = "PreferUpstream"
)

// WriteBack says whether Spillway writes a value that it accepts from the cloud to the spec.
// +kubebuilder:validation:Enum=Never;Always
type WriteBack string

const (
	// WriteBackNever leaves the spec as it is. The field gets the state Superseded. The default.
	WriteBackNever WriteBack = "Never"
	// WriteBackAlways overwrites the spec, as Rancher does.
	WriteBackAlways WriteBack = "Always"
)

// Side is the side that wins in a resolution.
// +kubebuilder:validation:Enum=Spec;Upstream
type Side string

const (
	// SideSpec sends the spec's value.
	SideSpec Side = "Spec"
	// SideUpstream accepts the cloud's value.
	SideUpstream Side = "Upstream"
)

// Sync says how Spillway merges changes of the two sides.
type Sync struct {
	// interval is the time between two reads of the cluster, with a jitter of 10 %. A duration from
	// 1m to 24h. Defaults to 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="interval must be a duration from 1m to 24h, such as 5m"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// external says what happens to fields that were changed only in the cloud. PreferUpstream
	// accepts the cloud's value. PreferSpec sends the spec's value again. Report only reports the
	// change. Defaults to PreferUpstream.
	// +optional
	External ExternalPolicy `json:"external,omitempty"`

	// conflict says what happens to fields that were changed on both sides. Report freezes the
	// field until resolutions resolves the conflict. PreferSpec sends the spec's value.
	// PreferUpstream accepts the cloud's value. Defaults to Report.
	// +optional
	Conflict ConflictPolicy `json:"conflict,omitempty"`

	// writeBack says whether Spillway writes a value that it accepts from the cloud to the spec:
	// Never or Always. Defaults to Never.
	// +optional
	WriteBack WriteBack `json:"writeBack,omitempty"`

	// overrides are policies for single fields. If several match a field, the policy with the
	// longest path applies. At most 64.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`

	// resolutions resolve single conflicts. A resolution whose path and upstreamHash match no
	// current conflict has no effect. At most 64.
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MaxItems=64
	Resolutions []Resolution `json:"resolutions,omitempty"`
}

// Override is a policy for a field and all fields below it.
type Override struct {
	// path of the field, as in status.managed: tags, tags["owner"] or nodePools["workers"].count.
	// It does not contain the name of the cloud's configuration.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// external applies to changes only in the cloud. Defaults to spec.sync.external.
	// +optional
	External ExternalPolicy `json:"external,omitempty"`

	// conflict applies to changes on both sides. Defaults to spec.sync.conflict.
	// +optional
	Conflict ConflictPolicy `json:"conflict,omitempty"`
}

// Resolution resolves one conflict.
type Resolution struct {
	// path of the conflict, as in status.conflicts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// take is the side whose value wins: Spec or Upstream.
	// +required
	Take Side `json:"take,omitempty"`

	// upstreamHash identifies the conflict. Copy it from status.conflicts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UpstreamHash string `json:"upstreamHash,omitempty"`
}
