package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NamespaceQuota limits what the pods of some namespaces may request in a provider, all of them
// together.
type NamespaceQuota struct {
	// name of the quota, for messages and the status. It is a DNS label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="name must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"
	Name string `json:"name,omitempty"`

	// namespaceSelector selects the namespaces in the consumer by their labels. A namespace that
	// several quotas select must keep to all of them. If it is unset, or has no requirements, it
	// selects every namespace.
	// +optional
	NamespaceSelector NamespaceSelector `json:"namespaceSelector,omitzero"`

	// hard is how much the pods may request of each resource. Resources that are not listed are not
	// limited. A resource is pods, cpu, memory, ephemeral-storage, hugepages of a size, such as
	// hugepages-2Mi, or one with a domain, such as nvidia.com/gpu. All but pods count requests, and may
	// have the prefix requests. too. limits.cpu, limits.memory and limits.ephemeral-storage count
	// limits. At least one, and at most 16, of at most 128 characters each.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : !self[k].startsWith('-'))",message="hard must have quantities that are not negative, such as 10 or 64Gi"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 128 && !format.qualifiedName().validate(k).hasValue())",message="hard must have valid resource names of at most 128 characters, such as memory or nvidia.com/gpu"
	// +kubebuilder:validation:XValidation:rule="self.all(k, (k.contains('/') && !k.startsWith('count/') && !k.startsWith('limits.') && !k.startsWith('kubernetes.io/') && !k.contains('.kubernetes.io/')) || k.matches('^(requests[.])?hugepages-[0-9]+(Ki|Mi|Gi)?$') || k in ['pods', 'cpu', 'memory', 'ephemeral-storage', 'requests.cpu', 'requests.memory', 'requests.ephemeral-storage', 'limits.cpu', 'limits.memory', 'limits.ephemeral-storage'])",message="hard must name resources of pods: pods, cpu, memory, ephemeral-storage, hugepages-SIZE, one with a domain, such as nvidia.com/gpu, or limits.cpu, limits.memory or limits.ephemeral-storage"
	Hard map[corev1.ResourceName]resource.Quantity `json:"hard,omitempty"`
}

// NamespaceSelector selects namespaces by their labels, as a LabelSelector does. Its size is limited, so
// that the API server can validate it.
type NamespaceSelector struct {
	// matchLabels are labels that the namespace must have, such as
	// {kubernetes.io/metadata.name: team-a}. At most 8.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="matchLabels must have valid keys, such as example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.labelValue().validate(self[k]).hasValue())",message="matchLabels must have valid values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on labels of the namespace. All must hold. At most 4.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	MatchExpressions []NamespaceSelectorRequirement `json:"matchExpressions,omitempty"`
}

// NamespaceSelectorRequirement is one requirement on a label of a namespace.
//
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",message="operators In and NotIn need at least one value"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",message="operators Exists and DoesNotExist take no values"
type NamespaceSelectorRequirement struct {
	// key is the label key.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="key must be a label key, such as example.com/team"
	Key string `json:"key,omitempty"`
	// operator compares the label with the values: In, NotIn, Exists or DoesNotExist.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator,omitempty"`
	// values to compare with. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="values must be label values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	Values []string `json:"values,omitempty"`
}

// QuotaStatus is how much of a quota is used.
type QuotaStatus struct {
	// name of the quota.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// hard is what spec.quota allows.
	// +optional
	Hard corev1.ResourceList `json:"hard,omitempty"`
	// used is what the pods request that were sent to the provider and have not ended.
	// +optional
	Used corev1.ResourceList `json:"used,omitempty"`
	// over lists the resources whose used amount exceeds hard, because the quota was lowered, or a pod was
	// resized. The pods stay. No other pod is sent meanwhile that requests such a resource.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	Over []string `json:"over,omitempty"`
}

// LabelSelector returns the selector as one of Kubernetes. It selects every namespace if it has no
// requirements.
func (s *NamespaceSelector) LabelSelector() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	for key, value := range s.MatchLabels {
		metav1.AddLabelToSelector(selector, key, string(value))
	}
	for _, r := range s.MatchExpressions {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: r.Key, Operator: r.Operator, Values: r.Values})
	}
	return selector
}

// ReasonQuotaExceeded is a reason of PodOffloaded: with the pod, more would be requested in the provider
// than spec.quota of its ClusterBinding allows. The message has the numbers at the time of the refusal.
// The pod is sent once there is room, the oldest first.
const ReasonQuotaExceeded = "QuotaExceeded"
