package v1alpha1

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Elastic says how far a provider can grow. Its virtual nodes show what there can be. A pod that waits
// in the provider is what makes an autoscaler there start nodes.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) || has(self.groups)",message="elastic must set max, or groups"
type Elastic struct {
	// max is how much the provider can have in all, with what exists. Resources that are not listed do
	// not grow, if there are no groups. A max below what exists hides nothing. At most 24. Without
	// groupBy, cpu, memory and pods are required: without one of them, no pod fits in.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=24
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] > 0 : !self[k].startsWith('-') && !self[k].startsWith('+') && !self[k].startsWith('.') && (!self[k].startsWith('0') || self[k].startsWith('0.')))",message="max must have quantities greater than 0, such as 200 or 800Gi"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && !format.qualifiedName().validate(k).hasValue())",message="max must have valid resource names, such as memory or example.com/gpu"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.contains('/') || k in ['cpu', 'memory', 'pods', 'ephemeral-storage'] || k.startsWith('hugepages-'))",message="max must name resources of nodes: cpu, memory, pods, ephemeral-storage, hugepages-SIZE, or one with a domain, such as example.com/gpu"
	Max map[corev1.ResourceName]resource.Quantity `json:"max,omitempty"`

	// after is how long a pod may wait in the provider for a new node. In namespaces with
	// spec.unschedulable, it replaces the time there. Then the pod goes elsewhere. If the autoscaler
	// says that it starts no node for the pod, the wait ends at once. From 1s to 24h. Defaults to 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="after must be a duration from 1s to 24h, such as 10m"
	After *metav1.Duration `json:"after,omitempty"`

	// groups are the groups of groupBy that can grow. Each has a virtual node, also while the provider
	// has no node of it. At most 32, and only with groupBy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, a.labels == b.labels))",message="groups must have different labels"
	Groups []ElasticGroup `json:"groups,omitempty"`
}

// ElasticGroup is a group of a provider's nodes that can grow.
type ElasticGroup struct {
	// labels are those of the nodes of the group: one value for each key of groupBy.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=3
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.labelValue().validate(self[k]).hasValue())",message="labels must have valid values: at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// node is what one new node offers pods: its allocatable. pods defaults to 110. A pod that requests
	// more does not wait for a new node. At most 24 resources.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=24
	// +kubebuilder:validation:XValidation:rule="'cpu' in self && 'memory' in self",message="node must have cpu and memory"
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] > 0 : !self[k].startsWith('-') && !self[k].startsWith('+') && !self[k].startsWith('.') && (!self[k].startsWith('0') || self[k].startsWith('0.')))",message="node must have quantities greater than 0, such as 2 or 8Gi"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'pods', 'ephemeral-storage'] || k.contains('/') || k.startsWith('hugepages-'))",message="node must name resources of nodes: cpu, memory, pods, ephemeral-storage, hugepages-SIZE, or one with a domain, such as example.com/gpu"
	Node map[corev1.ResourceName]resource.Quantity `json:"node,omitempty"`

	// maxNodes is how many nodes the group can have, with those that exist. From 1 to 10000.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxNodes int32 `json:"maxNodes,omitempty"`
}

const (
	defaultElasticAfter = 10 * time.Minute
	// defaultPodsOfNode is how many pods a kubelet takes by default.
	defaultPodsOfNode = 110
)

// Patience returns how long a pod may wait for a new node; 0: the provider does not grow.
func (e *Elastic) Patience() time.Duration {
	switch {
	case e == nil:
		return 0
	case e.After == nil:
		return defaultElasticAfter
	}
	return e.After.Duration
}

// Offers returns what one new node offers pods.
func (g *ElasticGroup) Offers() corev1.ResourceList {
	offers := corev1.ResourceList(g.Node).DeepCopy()
	if _, has := offers[corev1.ResourcePods]; !has && offers != nil {
		offers[corev1.ResourcePods] = *resource.NewQuantity(defaultPodsOfNode, resource.DecimalSI)
	}
	return offers
}

const (
	// BindingElastic says how much of what the provider can have exists, and how many pods wait for
	// more. It is present only if spec.virtualNode.elastic is set.
	BindingElastic = "Elastic"
	// ReasonElastic is the reason of BindingElastic if the provider can grow, and no pod waits for that.
	// Otherwise it is ReasonPodsWait.
	ReasonElastic = "Elastic"
	// ReasonMaxBelowExisting is the reason of BindingElastic if more exists than
	// spec.virtualNode.elastic says there can be. The virtual nodes show what exists.
	ReasonMaxBelowExisting = "MaxBelowExisting"

	// ReasonNoNewNode is a reason of PodOffloaded: the pod is in the provider, whose scheduler finds no
	// node for it, and whose autoscaler has said that it starts none. It is used only if
	// spec.virtualNode.elastic is set.
	ReasonNoNewNode = "NoNewNode"
)
