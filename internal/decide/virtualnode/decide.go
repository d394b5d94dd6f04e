// Package virtualnode decides, without any I/O, what the virtual node of a
// ClusterBinding looks like.
//
// Others write to a Node too: Kubernetes its own taints and conditions, users labels.
// So only what Spillway has added is ever changed or removed; an annotation remembers
// what that is.
package virtualnode

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/kubeletapi"
	"github.com/spillway-io/spillway/internal/decide/placement"
)

// annotationApplied remembers the keys of the labels, annotations and taints
// that come from the ClusterBinding.
const annotationApplied = "spillway.io/applied"

// providerScheme belongs to no cloud, so no cloud claims such a node. The name of the
// Node follows it, not the clusterID: some clouds look only at what follows the last
// slash, and one takes whatever begins with "i-" for its own machine.
const providerScheme = "spillway://"

// applied are those keys, sorted.
type applied struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	Taints      []string `json:"taints,omitempty"`
}

// New is the Node to create for the binding, whose provider has that offer.
func New(binding *v1alpha1.ClusterBinding, offer Offer) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: binding.VirtualNodeName(),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion:         v1alpha1.GroupVersion.String(),
			Kind:               "ClusterBinding",
			Name:               binding.Name,
			UID:                binding.UID,
			Controller:         ptr.To(true),
			BlockOwnerDeletion: ptr.To(true),
		}},
	}}
	dress(node, binding, offer)
	return node
}

// Apply sets the metadata and the spec of node from the binding and the offer, unless it
// is frozen.
func Apply(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) {
	if !frozen(binding) {
		dress(node, binding, offer)
	}
}

func dress(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) {
	var before applied
	// An invalid value was edited by hand; then nothing is removed.
	_ = json.Unmarshal([]byte(node.Annotations[annotationApplied]), &before)

	labels := placement.NodeLabels(binding)
	addCommon(labels, node, binding, offer, before.Labels)
	for _, kind := range offer.VolumeTypes {
		labels[v1alpha1.LabelVolumePrefix+kind] = v1alpha1.VolumeAllowed
	}
	for _, class := range binding.Spec.Classes {
		if class.Kind == v1alpha1.ClassRuntime && len(class.Name) <= validation.LabelValueMaxLength {
			labels[v1alpha1.LabelRuntimeClassPrefix+class.Name] = v1alpha1.RuntimeClassMapped
		}
	}
	annotations := map[string]string{}
	if offer.Kubelet.Address != "" {
		annotations[kubeletapi.AnnotationMetricsPath] = kubeletapi.MetricsPath(binding.VirtualNodeName())
	}
	for key, value := range binding.Spec.VirtualNode.Annotations {
		annotations[key] = string(value)
	}
	taints := wantedTaints(binding, offer)
	now := applied{Labels: slices.Sorted(maps.Keys(labels)), Annotations: slices.Sorted(maps.Keys(annotations))}
	for _, taint := range taints {
		now.Taints = append(now.Taints, taintKey(taint))
	}
	slices.Sort(now.Taints)

	node.Labels = merged(node.Labels, labels, before.Labels)
	node.Annotations = merged(node.Annotations, annotations, before.Annotations)
	if encoded, err := json.Marshal(now); err == nil { // It cannot fail: three lists of strings.
		node.Annotations[annotationApplied] = string(encoded)
	}
	node.Spec.Taints = mergedTaints(node.Spec.Taints, taints, before.Taints)
	// It can be set only once. Without one, a cloud's controllers look for a machine with
	// the node's name, and delete the node when it is not Ready.
	node.Spec.ProviderID = cmp.Or(node.Spec.ProviderID, providerScheme+binding.VirtualNodeName())
}

// wantedTaints are the taints of the binding, and one while its provider takes no pods.
// Of two with the same key and effect the first counts: the API server refuses a Node
// with both.
func wantedTaints(binding *v1alpha1.ClusterBinding, offer Offer) []corev1.Taint {
	taints := []corev1.Taint{{Key: v1alpha1.TaintVirtualNode, Value: binding.Spec.ClusterID, Effect: corev1.TaintEffectNoSchedule}}
	if offer.Refuses != "" {
		taints = append(taints, corev1.Taint{Key: v1alpha1.TaintNoNewPods, Value: offer.Refuses, Effect: corev1.TaintEffectNoSchedule})
	}
	for _, t := range binding.Spec.VirtualNode.Taints {
		taint := corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
		if !slices.ContainsFunc(taints, func(other corev1.Taint) bool { return taintKey(other) == taintKey(taint) }) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// Kubernetes tells taints apart by key and effect.
func taintKey(t corev1.Taint) string { return t.Key + ":" + string(t.Effect) }

func merged(current, wanted map[string]string, before []string) map[string]string {
	result := make(map[string]string, len(current)+len(wanted))
	maps.Copy(result, current)
	maps.DeleteFunc(result, func(key, _ string) bool { return slices.Contains(before, key) })
	maps.Copy(result, wanted)
	return result
}

func mergedTaints(current, wanted []corev1.Taint, before []string) []corev1.Taint {
	missing := make(map[string]corev1.Taint, len(wanted))
	for _, t := range wanted {
		missing[taintKey(t)] = t
	}
	var result []corev1.Taint
	for _, t := range current {
		if w, ok := missing[taintKey(t)]; ok {
			w.TimeAdded = t.TimeAdded
			result = append(result, w)
			delete(missing, taintKey(t))
		} else if !slices.Contains(before, taintKey(t)) {
			result = append(result, t)
		}
	}
	for _, t := range wanted {
		if _, ok := missing[taintKey(t)]; ok {
			result = append(result, t)
		}
	}
	return result
}

// Offer is what a provider has.
type Offer struct {
	Nodes []corev1.Node
	// Unknown is set for a provider that does not let us read its nodes.
	Unknown bool
	// Tolerable are the keys of the taints that consumers' pods may tolerate there.
	Tolerable []string
	// VolumeTypes are those that pods may describe there themselves.
	VolumeTypes []string
	// Refuses is why the provider takes no new pods at all, or empty. On the node, they
	// would wait beside free nodes of the consumer.
	Refuses string
	// Kubelet is where the manager serves the kubelet API of the node.
	Kubelet Endpoint
	// Older are the bindings that get their share first, oldest first.
	Older []*v1alpha1.ClusterBinding
}

// ApplyStatus sets the status of node, which has its labels already, for a provider that answers and has that offer;
// if the offer is unknown, the virtual node keeps offering what it did. Older bindings
// of the provider get their share first. If the binding does not say the version, it
// stays as it was: the provider has one, and the binding's next status has it again. On
// a frozen node, only the heartbeat changes, and the address: logs are wanted then, too, and another
// manager may have taken over.
func ApplyStatus(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer, now metav1.Time) {
	setAddress(node, offer.Kubelet)
	if frozen(binding) {
		beat(node, offer, now)
		return
	}
	if !offer.Unknown {
		capacity := left(binding, offer)
		node.Status.Capacity, node.Status.Allocatable = capacity, capacity
		node.Status.DeclaredFeatures = declaredFeatures(offer)
	}
	node.Status.NodeInfo.KubeletVersion = cmp.Or(binding.Status.KubernetesVersion, node.Status.NodeInfo.KubeletVersion)
	node.Status.NodeInfo.OperatingSystem, node.Status.NodeInfo.Architecture = node.Labels[corev1.LabelOSStable], node.Labels[corev1.LabelArchStable]
	for _, wanted := range healthy(offer) {
		setCondition(&node.Status.Conditions, wanted, now)
	}
}
