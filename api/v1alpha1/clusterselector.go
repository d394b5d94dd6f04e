package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ClusterSelector selects providers by the labels that their ClusterBindings give the virtual
// nodes, and by the names of those nodes. It works like the core NodeSelector, with two
// differences. A selector without terms selects every provider. And its size is limited, so that
// the API server can validate it, and the admission policy can combine it with a pod's own
// affinity.
//
// +kubebuilder:validation:XValidation:rule="!has(self.nodeSelectorTerms) || self.nodeSelectorTerms.map(t, has(t.matchExpressions) ? t.matchExpressions.map(r, has(r.values) ? size(r.values) : 0).sum() : 0).sum() <= 128",fieldPath=".nodeSelectorTerms",message="clusterSelector must have at most 128 values in all its terms together"
type ClusterSelector struct {
	// nodeSelectorTerms are alternatives: the selector selects a provider if any term matches.
	// Without terms, it selects every provider. At most 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	NodeSelectorTerms []ClusterSelectorTerm `json:"nodeSelectorTerms,omitempty"`
}

// ClusterSelectorTerm matches a provider if all its requirements do.
//
// +kubebuilder:validation:XValidation:rule="(has(self.matchExpressions) && size(self.matchExpressions) > 0) || (has(self.matchFields) && size(self.matchFields) > 0)",message="a term needs at least one of matchExpressions and matchFields: an empty term would select nothing"
type ClusterSelectorTerm struct {
	// matchExpressions are requirements on the labels that Spillway gives the virtual node:
	// spec.virtualNode.labels of the ClusterBinding, and Spillway's own labels. At most 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	MatchExpressions []ClusterSelectorRequirement `json:"matchExpressions,omitempty"`
	// matchFields are requirements on fields of the virtual node. Kubernetes supports only
	// metadata.name, with the operators In and NotIn and one value. At most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	MatchFields []ClusterFieldRequirement `json:"matchFields,omitempty"`
}

// ClusterSelectorRequirement is one requirement on a label, with the rules of the core
// NodeSelectorRequirement.
//
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",message="operators In and NotIn need at least one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",message="operators Exists and DoesNotExist take no values"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt']) || (has(self.values) && size(self.values) == 1 && self.values[0].matches('^[0-9]{1,18}$'))",message="operators Gt and Lt need exactly one value, an integer that is not negative"
type ClusterSelectorRequirement struct {
	// key is the label key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="key must be a label key, such as topology.kubernetes.io/region"
	Key string `json:"key,omitempty"`
	// operator compares the label with the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator corev1.NodeSelectorOperator `json:"operator,omitempty"`
	// values to compare with. At most 64, and at most 128 in the whole selector.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="values must be label values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	Values []string `json:"values,omitempty"`
}

// ClusterFieldRequirement is one requirement on the name of the virtual node.
type ClusterFieldRequirement struct {
	// key is the field. Only metadata.name is supported.
	// +required
	// +kubebuilder:validation:Enum=metadata.name
	Key string `json:"key,omitempty"`
	// operator is In or NotIn.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn
	Operator corev1.NodeSelectorOperator `json:"operator,omitempty"`
	// values holds the one name to compare with.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="values must be the name of a node: a DNS subdomain"
	Values []string `json:"values,omitempty"`
}

// NodeSelector returns the selector as a core NodeSelector, or nil if it selects every
// provider.
func (s *ClusterSelector) NodeSelector() *corev1.NodeSelector {
	if s == nil || len(s.NodeSelectorTerms) == 0 {
		return nil
	}
	selector := &corev1.NodeSelector{}
	for _, term := range s.NodeSelectorTerms {
		var converted corev1.NodeSelectorTerm
		for _, r := range term.MatchExpressions {
			converted.MatchExpressions = append(converted.MatchExpressions,
				corev1.NodeSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		for _, r := range term.MatchFields {
			converted.MatchFields = append(converted.MatchFields,
				corev1.NodeSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, converted)
	}
	return selector
}
