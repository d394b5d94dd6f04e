package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// VirtualNodeTemplate says what the virtual node of a provider shows.
//
// +kubebuilder:validation:XValidation:rule="!has(self.groupBy) || !has(self.labels) || self.groupBy.all(k, !(k in self.labels))",message="groupBy must not list a key of labels: virtual nodes have one value of it, their group's or the one in labels"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || has(self.groupBy) == has(self.elastic.groups)",fieldPath=".elastic",message="elastic must list groups if groupBy is set, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || !has(self.groupBy) || !has(self.elastic.groups) || self.elastic.groups.all(g, size(g.labels) == size(self.groupBy) && self.groupBy.all(k, k in g.labels))",fieldPath=".elastic.groups",message="labels of groups must have the keys of groupBy, all of them and no others"
// +kubebuilder:validation:XValidation:rule="!has(self.elastic) || has(self.groupBy) || !has(self.elastic.max) || ['cpu', 'memory', 'pods'].all(k, k in self.elastic.max)",fieldPath=".elastic.max",message="max must list cpu, memory and pods if groupBy is not set"
type VirtualNodeTemplate struct {
	// labels of the virtual node, for the selectors of NamespaceOffloadings and of pods. At most
	// 32. Keys under spillway.io/ and kubernetes.io/hostname are not allowed, because Spillway sets
	// them.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="labels must have valid keys, such as topology.kubernetes.io/region"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 63 && !format.labelValue().validate(self[k]).hasValue())",message="labels must have valid values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('spillway.io/') && k != 'kubernetes.io/hostname')",message="labels under spillway.io/ and kubernetes.io/hostname are set by Spillway"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations of the virtual node. At most 32. Keys under spillway.io/ are not allowed, because
	// Spillway sets them.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="annotations must have valid keys, such as example.com/contact"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('spillway.io/'))",message="annotations under spillway.io/ are set by Spillway"
	Annotations map[string]AnnotationValue `json:"annotations,omitempty"`

	// taints of the virtual node, in addition to spillway.io/virtual-node. Pods must tolerate them
	// themselves. At most 16, and no keys under spillway.io/.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Taints []VirtualNodeTaint `json:"taints,omitempty"`

	// capacity limits what the virtual node offers of a resource. A value is a quantity, such as 64
	// or 256Gi, or a percentage of what the provider's nodes offer, such as 50%. Resources that are
	// not listed are not limited. At most 24. A resource is cpu, memory, pods, ephemeral-storage,
	// hugepages of a size, such as hugepages-2Mi, or one with a domain, such as example.com/gpu.
	// +optional
	// +kubebuilder:validation:MaxProperties=24
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : self[k].endsWith('%') || (isQuantity(self[k]) && !self[k].startsWith('-')))",message="capacity must be a quantity that is not negative, such as 64 or 256Gi, or a percentage"
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int || !self[k].endsWith('%') || self[k] == '100%' || (size(self[k]) == 2 && self[k].charAt(0) in ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) || (size(self[k]) == 3 && self[k].charAt(0) in ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'] && self[k].charAt(1) in ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']))",message="capacity as a percentage must be a whole number from 0% to 100%"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="capacity must have valid resource names, such as memory or example.com/gpu"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.contains('/') || k in ['cpu', 'memory', 'pods', 'ephemeral-storage'] || k.startsWith('hugepages-'))",message="capacity must name resources of nodes: cpu, memory, pods, ephemeral-storage, hugepages-SIZE, or one with a domain, such as example.com/gpu"
	Capacity map[corev1.ResourceName]intstr.IntOrString `json:"capacity,omitempty"`

	// groupBy lists keys of labels, such as topology.kubernetes.io/zone. The provider then has a
	// virtual node for each combination of values that its nodes have. It has these values as
	// labels, and the capacity of these nodes, and its pods run on them. Nodes that lack one of the
	// labels have a virtual node without it. At most three keys, and at most 64 virtual nodes; with
	// more combinations, there is one. Each virtual node costs six requests a minute. If unset,
	// there is one virtual node for all nodes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="groupBy must list keys of labels, such as topology.kubernetes.io/zone"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('spillway.io/') && !k.contains('.spillway.io/'))",message="groupBy must not list keys of spillway.io: they are Spillway's own, and do not tell the provider's nodes apart"
	GroupBy []string `json:"groupBy,omitempty"`

	// foreignPods says what pods in the provider that are not this consumer's mean for the virtual
	// node. Subtract: what they request on usable nodes is missing in its allocatable, which is what
	// the scheduler reads. The manager then watches all pods of the provider that have a node.
	// Ignore: it does neither. capacity limits the sum of the nodes in both cases. Defaults to
	// Subtract.
	// +optional
	ForeignPods ForeignPods `json:"foreignPods,omitempty"`

	// elastic says how far the provider can grow, if it has an autoscaler. The virtual nodes then show
	// what there can be, not only what exists. If unset, they show what exists.
	// +optional
	Elastic *Elastic `json:"elastic,omitempty"`
}

// LabelValue is the value of a label: at most 63 characters.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// AnnotationValue is the value of an annotation: at most 1024 characters.
// +kubebuilder:validation:MaxLength=1024
type AnnotationValue string

// VirtualNodeTaint is a taint of a virtual node.
type VirtualNodeTaint struct {
	// key of the taint.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self).hasValue()",message="key must be a taint key, such as example.com/gpu"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('spillway.io/')",message="taints under spillway.io/ are set by Spillway"
	Key string `json:"key,omitempty"`
	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.labelValue().validate(self).hasValue()",message="value must be a label value: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	Value string `json:"value,omitempty"`
	// effect of the taint: NoSchedule, PreferNoSchedule or NoExecute.
	// +required
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// VirtualNodeStatus is a virtual node of a provider.
type VirtualNodeStatus struct {
	// name of the Node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// group is the annotation spillway.io/group of the Node: the labels that the provider's nodes behind it have in common,
	// as JSON. It is empty for the node without a group.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Group string `json:"group,omitempty"`
}
