package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OverflowTier is one step of the order in which the pods of a namespace use nodes.
//
// +kubebuilder:validation:XValidation:rule="(has(self.local) && self.local) != has(self.clusterSelector)",message="a tier needs either local: true or a clusterSelector"
type OverflowTier struct {
	// local: the tier has the consumer's own nodes. Only the first tier can be local: ordinary nodes
	// have no taint that could keep pods away until their turn comes.
	// +optional
	Local bool `json:"local,omitempty"`

	// clusterSelector selects the providers of the tier. If it has no terms, the tier has all
	// providers that no earlier tier has. A provider that several tiers select belongs to the first
	// of them.
	// +optional
	ClusterSelector *TierSelector `json:"clusterSelector,omitempty"`

	// after is how long the scheduler must find no room for a pod in the tiers before. Then the pod may
	// use this tier. From 1s to 1h. Defaults to 10s. Not for the first tier, which every pod may use at
	// once.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="after must be a duration from 1s to 1h, such as 10s"
	After *metav1.Duration `json:"after,omitempty"`
}

// TierSelector is a smaller ClusterSelector: an API server validates only so much in one object.
type TierSelector struct {
	// nodeSelectorTerms are alternatives: the selector selects a provider if any term matches.
	// Without terms, it selects every provider. At most 4, and at most 8 in all tiers together.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	NodeSelectorTerms []TierSelectorTerm `json:"nodeSelectorTerms,omitempty"`
}

// TierSelectorTerm matches a provider if all its requirements do.
type TierSelectorTerm struct {
	// matchExpressions are requirements on the labels that Spillway gives the virtual node:
	// spec.virtualNode.labels of the ClusterBinding, and Spillway's own labels. From 1 to 4.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	MatchExpressions []ClusterSelectorRequirement `json:"matchExpressions,omitempty"`
}

// Selector returns the providers that the tier selects, or nil for all.
func (t *OverflowTier) Selector() *ClusterSelector {
	if t.ClusterSelector == nil || len(t.ClusterSelector.NodeSelectorTerms) == 0 {
		return nil
	}
	selector := &ClusterSelector{}
	for _, term := range t.ClusterSelector.NodeSelectorTerms {
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, ClusterSelectorTerm{MatchExpressions: term.MatchExpressions})
	}
	return selector
}

// OverflowTierStatus is what a tier consists of now.
type OverflowTierStatus struct {
	// clusters are the clusterIDs of the providers of the tier, sorted. A local tier has none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=24
	Clusters []string `json:"clusters,omitempty"`
}

const (
	// OffloadingOverflow is the condition of a NamespaceOffloading with spec.overflow that reports
	// whether every tier has nodes of its own.
	OffloadingOverflow = "Overflow"
	// ReasonTiersReady: every tier has nodes of its own.
	ReasonTiersReady = "TiersReady"
	// ReasonTierEmpty: no provider is in a tier, so pods skip it.
	ReasonTierEmpty = "TierEmpty"
	// ReasonTiersOverlap: several tiers select a provider. It belongs to the first of them. A tier
	// without terms does not count: it has all that are left.
	ReasonTiersOverlap = "TiersOverlap"

	// OffloadingPodsFit is present, and False, only while pods of the namespace wait for a node
	// although they may use every tier of spec.overflow. The message names these pods.
	OffloadingPodsFit = "PodsFit"
	// ReasonFitsNoTier is the reason of OffloadingPodsFit, and of an event of each such pod: it may
	// use every tier, and the scheduler finds no room in any of them.
	ReasonFitsNoTier = "FitsNoTier"

	// ReasonTierOpened is the reason of an event: the scheduler found no room for a pod for long
	// enough, so it may use the next tier.
	ReasonTierOpened = "TierOpened"
)

// AnnotationOverflow says which tiers of spec.overflow were opened for a pod that waits for a node, and
// when: 1=2026-01-02T03:04:05Z,2=2026-01-02T03:04:15Z. Tiers are counted from 0. The first is open from
// the beginning, and not listed. Spillway writes it together with the tolerations.
const AnnotationOverflow = "spillway.io/overflow"

// Selector returns the selector of the providers that the offloading selects: clusterSelector or, with
// spec.overflow, those of all its tiers together.
func (s *NamespaceOffloadingSpec) Selector() *ClusterSelector {
	if len(s.Overflow) == 0 {
		return s.ClusterSelector
	}
	all := &ClusterSelector{}
	for i := range s.Overflow {
		if s.Overflow[i].Local {
			continue
		}
		selector := s.Overflow[i].Selector()
		if selector == nil {
			return nil
		}
		all.NodeSelectorTerms = append(all.NodeSelectorTerms, selector.NodeSelectorTerms...)
	}
	return all
}
