// Package builder builds objects for tests, and fills in fields that a test does not care about. Each
// builder is a chain of calls that ends in Obj.
package builder

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Epoch is the creation time of all objects for which a test sets no other.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// BindingBuilder builds a ClusterBinding.
type BindingBuilder struct{ obj v1alpha1.ClusterBinding }

// Binding returns a ClusterBinding with its name as its clusterID.
func Binding(name string) *BindingBuilder {
	return &BindingBuilder{v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(Epoch)},
		Spec: v1alpha1.ClusterBindingSpec{
			ClusterID:           name,
			KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: name, Key: v1alpha1.DefaultKubeconfigKey},
			DeletionPolicy:      v1alpha1.DeletionPolicyDrain,
		},
	}}
}

// ClusterID sets the clusterID.
func (b *BindingBuilder) ClusterID(id string) *BindingBuilder {
	b.obj.Spec.ClusterID = id
	return b
}

// Created sets the creation time, as a duration after Epoch.
func (b *BindingBuilder) Created(after time.Duration) *BindingBuilder {
	b.obj.CreationTimestamp = metav1.NewTime(Epoch.Add(after))
	return b
}

// Deleted sets the deletion timestamp, as a duration after Epoch.
func (b *BindingBuilder) Deleted(after time.Duration) *BindingBuilder {
	b.obj.DeletionTimestamp = ptr.To(metav1.NewTime(Epoch.Add(after)))
	b.obj.Finalizers = []string{v1alpha1.FinalizerBinding}
	return b
}

// Label adds a label of the virtual node.
func (b *BindingBuilder) Label(key, value string) *BindingBuilder {
	if b.obj.Spec.VirtualNode.Labels == nil {
		b.obj.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{}
	}
	b.obj.Spec.VirtualNode.Labels[key] = v1alpha1.LabelValue(value)
	return b
}

// Annotation adds an annotation of the virtual node.
func (b *BindingBuilder) Annotation(key, value string) *BindingBuilder {
	if b.obj.Spec.VirtualNode.Annotations == nil {
		b.obj.Spec.VirtualNode.Annotations = map[string]v1alpha1.AnnotationValue{}
	}
	b.obj.Spec.VirtualNode.Annotations[key] = v1alpha1.AnnotationValue(value)
	return b
}

// Taint adds a taint of the virtual node.
func (b *BindingBuilder) Taint(key, value string, effect corev1.TaintEffect) *BindingBuilder {
	b.obj.Spec.VirtualNode.Taints = append(b.obj.Spec.VirtualNode.Taints, v1alpha1.VirtualNodeTaint{Key: key, Value: value, Effect: effect})
	return b
}

// Paused sets spec.paused.
func (b *BindingBuilder) Paused() *BindingBuilder {
	b.obj.Spec.Paused = true
	return b
}

// Orphan sets the deletion policy.
func (b *BindingBuilder) Orphan() *BindingBuilder {
	b.obj.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan
	return b
}

// MountNamespace sets spec.mountNamespace.
func (b *BindingBuilder) MountNamespace(name string) *BindingBuilder {
	b.obj.Spec.MountNamespace = name
	return b
}

// DeletionTimeout sets how long a deletion waits for the provider.
func (b *BindingBuilder) DeletionTimeout(d time.Duration) *BindingBuilder {
	b.obj.Spec.Unreachable.DeletionTimeout = &metav1.Duration{Duration: d}
	return b
}

// Pinned records the identity of the provider, as after its first connection.
func (b *BindingBuilder) Pinned(uid string) *BindingBuilder {
	b.obj.Status.RemoteClusterUID = uid
	return b
}

// Held records the generation of the Lease in the provider, as after the manager first took it.
func (b *BindingBuilder) Held(generation int64) *BindingBuilder {
	b.obj.Status.Holder.Generation = generation
	return b
}

// Authorities records the certificate authorities that vouched for the provider.
func (b *BindingBuilder) Authorities(all ...string) *BindingBuilder {
	b.obj.Status.RemoteClusterAuthorities = all
	return b
}

// Condition sets a condition.
func (b *BindingBuilder) Condition(kind string, status metav1.ConditionStatus, reason, message string) *BindingBuilder {
	meta.SetStatusCondition(&b.obj.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(Epoch), ObservedGeneration: b.obj.Generation,
	})
	return b
}

// reached records an identity for the provider, unless it has one.
func (b *BindingBuilder) reached() *BindingBuilder {
	return b.Pinned(cmp.Or(b.obj.Status.RemoteClusterUID, "provider-"+b.obj.Name))
}

// Unreachable marks the provider as connected once, but no longer answering.
func (b *BindingBuilder) Unreachable(message string) *BindingBuilder {
	return b.reached().Condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonUnreachable, message)
}

// Connected marks the provider as connected.
func (b *BindingBuilder) Connected() *BindingBuilder {
	return b.reached().Condition(v1alpha1.BindingConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected, "")
}

// Obj is the ClusterBinding.
func (b *BindingBuilder) Obj() *v1alpha1.ClusterBinding { return b.obj.DeepCopy() }

// OffloadingBuilder builds a NamespaceOffloading.
type OffloadingBuilder struct {
	obj v1alpha1.NamespaceOffloading
}

// Offloading returns the NamespaceOffloading of a namespace, with the defaults and the finalizer.
func Offloading(namespace string) *OffloadingBuilder {
	return &OffloadingBuilder{v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: v1alpha1.OffloadingName, UID: types.UID("uid-of-" + namespace), Generation: 1,
			CreationTimestamp: metav1.NewTime(Epoch), Finalizers: []string{v1alpha1.FinalizerOffloading},
		},
		Spec: v1alpha1.NamespaceOffloadingSpec{
			NamespaceMappingStrategy: v1alpha1.MappingDefaultName,
			PodOffloadingStrategy:    v1alpha1.PodsLocalAndRemote,
		},
	}}
}

// Finalizers replaces the finalizers.
func (b *OffloadingBuilder) Finalizers(names ...string) *OffloadingBuilder {
	b.obj.Finalizers = names
	return b
}

// Labels sets the labels.
func (b *OffloadingBuilder) Labels(labels map[string]string) *OffloadingBuilder {
	b.obj.Labels = labels
	return b
}

// Deleted sets the deletion timestamp, as a duration after Epoch.
func (b *OffloadingBuilder) Deleted(after time.Duration) *OffloadingBuilder {
	b.obj.DeletionTimestamp = ptr.To(metav1.NewTime(Epoch.Add(after)))
	return b
}

// Generation sets metadata.generation.
func (b *OffloadingBuilder) Generation(generation int64) *OffloadingBuilder {
	b.obj.Generation = generation
	return b
}

// Mapping sets the mapping strategy, and the name for SelectedName.
func (b *OffloadingBuilder) Mapping(strategy v1alpha1.NamespaceMappingStrategy, name string) *OffloadingBuilder {
	b.obj.Spec.NamespaceMappingStrategy, b.obj.Spec.RemoteNamespaceName = strategy, name
	return b
}

// Pods sets the pod offloading strategy.
func (b *OffloadingBuilder) Pods(strategy v1alpha1.PodOffloadingStrategy) *OffloadingBuilder {
	b.obj.Spec.PodOffloadingStrategy = strategy
	return b
}

// Selector sets a selector with one term that has these requirements.
func (b *OffloadingBuilder) Selector(requirements ...v1alpha1.ClusterSelectorRequirement) *OffloadingBuilder {
	b.obj.Spec.ClusterSelector = &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{MatchExpressions: requirements}}}
	return b
}

// Status sets the status.
func (b *OffloadingBuilder) Status(status v1alpha1.NamespaceOffloadingStatus) *OffloadingBuilder {
	b.obj.Status = status
	return b
}

// Obj is the NamespaceOffloading.
func (b *OffloadingBuilder) Obj() *v1alpha1.NamespaceOffloading { return b.obj.DeepCopy() }

// Tier returns a tier of spec.overflow with the providers that match any of the terms, or all without terms.
func Tier(terms ...[]v1alpha1.ClusterSelectorRequirement) v1alpha1.OverflowTier {
	tier := v1alpha1.OverflowTier{ClusterSelector: &v1alpha1.TierSelector{}}
	for _, requirements := range terms {
		tier.ClusterSelector.NodeSelectorTerms = append(tier.ClusterSelector.NodeSelectorTerms, v1alpha1.TierSelectorTerm{MatchExpressions: requirements})
	}
	return tier
}

// Requirement returns a requirement of a selector.
func Requirement(key string, operator corev1.NodeSelectorOperator, values ...string) v1alpha1.ClusterSelectorRequirement {
	return v1alpha1.ClusterSelectorRequirement{Key: key, Operator: operator, Values: values}
}

// MapBuilder builds a NamespaceMap.
type MapBuilder struct{ obj v1alpha1.NamespaceMap }

// Map returns an empty NamespaceMap with a current status.
func Map(name string) *MapBuilder {
	return &MapBuilder{v1alpha1.NamespaceMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-of-map-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(Epoch),
			Labels: map[string]string{v1alpha1.LabelCluster: name},
		},
		Status: v1alpha1.NamespaceMapStatus{ObservedGeneration: 1},
	}}
}

// Desired adds an entry to the spec.
func (b *MapBuilder) Desired(namespace, remote string) *MapBuilder {
	b.obj.Spec.DesiredMapping = append(b.obj.Spec.DesiredMapping, v1alpha1.DesiredMapping{Namespace: namespace, RemoteNamespace: remote})
	return b
}

// Current adds an entry to the status. Its phase began at Epoch.
func (b *MapBuilder) Current(namespace, remote string, phase v1alpha1.MappingPhase, reason, message string) *MapBuilder {
	b.obj.Status.CurrentMapping = append(b.obj.Status.CurrentMapping, v1alpha1.CurrentMapping{
		Namespace: namespace, RemoteNamespace: remote, Phase: phase, Reason: reason, Message: message, Since: ptr.To(metav1.NewTime(Epoch)),
	})
	return b
}

// Accepted adds an entry to the spec, and an entry to the status that the remote namespace is active.
func (b *MapBuilder) Accepted(namespace, remote string) *MapBuilder {
	return b.Desired(namespace, remote).Current(namespace, remote, v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "")
}

// Untouched marks the map as never observed.
func (b *MapBuilder) Untouched() *MapBuilder {
	b.obj.Status.ObservedGeneration = 0
	return b
}

// Unobserved makes the spec newer than the status.
func (b *MapBuilder) Unobserved() *MapBuilder {
	b.obj.Generation++
	return b
}

// Obj is the NamespaceMap.
func (b *MapBuilder) Obj() *v1alpha1.NamespaceMap { return b.obj.DeepCopy() }

// NodeBuilder builds a Node.
type NodeBuilder struct{ obj corev1.Node }

// Node returns a Node that is Ready, without resources.
func Node(name string) *NodeBuilder {
	return &NodeBuilder{corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-node-" + name)},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		}},
	}}
}

// Allocatable sets the allocatable quantity of a resource.
func (b *NodeBuilder) Allocatable(name corev1.ResourceName, quantity string) *NodeBuilder {
	if b.obj.Status.Allocatable == nil {
		b.obj.Status.Allocatable = corev1.ResourceList{}
	}
	b.obj.Status.Allocatable[name] = resource.MustParse(quantity)
	return b
}

// Ready sets the condition Ready.
func (b *NodeBuilder) Ready(status corev1.ConditionStatus) *NodeBuilder {
	b.obj.Status.Conditions[1].Status = status
	return b
}

// WithoutConditions drops all conditions.
func (b *NodeBuilder) WithoutConditions() *NodeBuilder {
	b.obj.Status.Conditions = nil
	return b
}

// Cordoned makes the node unschedulable.
func (b *NodeBuilder) Cordoned() *NodeBuilder {
	b.obj.Spec.Unschedulable = true
	return b
}

// Taint adds a taint.
func (b *NodeBuilder) Taint(key string, effect corev1.TaintEffect) *NodeBuilder {
	b.obj.Spec.Taints = append(b.obj.Spec.Taints, corev1.Taint{Key: key, Effect: effect})
	return b
}

// Deleted sets the deletion timestamp, to Epoch.
func (b *NodeBuilder) Deleted() *NodeBuilder {
	b.obj.DeletionTimestamp = ptr.To(metav1.NewTime(Epoch))
	return b
}

// Label adds a label.
func (b *NodeBuilder) Label(key, value string) *NodeBuilder {
	if b.obj.Labels == nil {
		b.obj.Labels = map[string]string{}
	}
	b.obj.Labels[key] = value
	return b
}

// OwnedBy makes the node the virtual node of a ClusterBinding.
func (b *NodeBuilder) OwnedBy(binding *v1alpha1.ClusterBinding) *NodeBuilder {
	b.obj.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(binding, v1alpha1.GroupVersion.WithKind("ClusterBinding"))}
	return b
}

// Obj is the Node.
func (b *NodeBuilder) Obj() *corev1.Node { return b.obj.DeepCopy() }
