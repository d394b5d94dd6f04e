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
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// annotationApplied is the annotation that remembers the keys of the labels, annotations and taints from the
// ClusterBinding.
const annotationApplied = "spillway.io/applied"

// providerScheme belongs to no cloud, so no cloud claims such a node. It is followed by the name of the Node
// and not by the clusterID. Some clouds read only the part after the last slash, and one cloud takes
// everything that begins with "i-" for its own machine.
const providerScheme = "spillway://"

// applied are the remembered keys, sorted.
type applied struct {
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	Taints      []string `json:"taints,omitempty"`
}

// New returns the Node to create for the binding. offer is what its provider offers.
func New(binding *v1alpha1.ClusterBinding, offer Offer) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: offer.nodeName(binding),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion:         v1alpha1.GroupVersion.String(),
			Kind:               "ClusterBinding",
			Name:               binding.Name,
			UID:                binding.UID,
			Controller:         ptr.To(true),
			BlockOwnerDeletion: ptr.To(true),
		}},
	}}
	// It counts as cordoned by somebody else, so that only kubectl spillway uncordon, or a user, ends it.
	node.Spec.Unschedulable = drained(binding)
	setMetadataAndSpec(node, binding, offer)
	return node
}

// apply sets the metadata and the spec of node from the binding and the offer, unless the node is frozen.
func apply(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) {
	if !frozen(binding) {
		setMetadataAndSpec(node, binding, offer)
	}
}

func setMetadataAndSpec(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer) {
	var before applied
	// Somebody has edited an invalid value by hand. Then nothing is removed.
	_ = json.Unmarshal([]byte(node.Annotations[annotationApplied]), &before)

	labels := placement.NodeLabels(binding)
	addCommon(labels, node, binding, offer, before.Labels)
	for _, kind := range offer.VolumeTypes {
		labels[v1alpha1.LabelVolumePrefix+kind] = v1alpha1.VolumeAllowed
	}
	for _, class := range binding.Spec.Classes {
		if len(class.Name) > validation.LabelValueMaxLength {
			continue
		}
		switch class.Kind {
		case v1alpha1.ClassRuntime:
			labels[v1alpha1.LabelRuntimeClassPrefix+class.Name] = v1alpha1.RuntimeClassMapped
		case v1alpha1.ClassStorage:
			labels[v1alpha1.LabelStorageClassPrefix+class.Name] = v1alpha1.StorageClassMapped
		}
	}
	annotations := map[string]string{}
	if offer.Kubelet.Address != "" {
		annotations[kubeletapi.AnnotationMetricsPath] = kubeletapi.MetricsPath(offer.nodeName(binding))
	}
	labels[corev1.LabelHostname] = offer.nodeName(binding)
	for key, value := range binding.Spec.VirtualNode.Annotations {
		annotations[key] = string(value)
	}
	offer.Member.set(labels, annotations)
	offer.Member.cordon(node, annotations, drained(binding))
	taints := wantedTaints(binding, offer, reservation(node, offer, before.Taints))
	now := applied{Labels: slices.Sorted(maps.Keys(labels)), Annotations: slices.Sorted(maps.Keys(annotations))}
	for _, taint := range taints {
		now.Taints = append(now.Taints, taintKey(taint))
	}
	slices.Sort(now.Taints)

	node.Labels = merged(node.Labels, labels, before.Labels)
	node.Annotations = merged(node.Annotations, annotations, before.Annotations)
	if encoded, err := json.Marshal(now); err == nil { // It cannot fail, because it has three lists of strings.
		node.Annotations[annotationApplied] = string(encoded)
	}
	node.Spec.Taints = mergedTaints(node.Spec.Taints, taints, before.Taints)
	// The provider ID can be set only once. Without one, a cloud's controllers look for a machine with the
	// node's name, and delete the node when it is not Ready.
	node.Spec.ProviderID = cmp.Or(node.Spec.ProviderID, providerScheme+offer.nodeName(binding))
}

// wantedTaints returns the taints of the binding, one more while its provider accepts no pods, and one if all nodes are
// kept for pods that request a resource. If two have the same key and effect, the first counts, because the API server
// refuses a Node with both.
func wantedTaints(binding *v1alpha1.ClusterBinding, offer Offer, reserved []corev1.Taint) []corev1.Taint {
	taints := []corev1.Taint{{Key: v1alpha1.TaintVirtualNode, Value: binding.Spec.ClusterID, Effect: corev1.TaintEffectNoSchedule}}
	if offer.Refuses != "" {
		taints = append(taints, corev1.Taint{Key: v1alpha1.TaintNoNewPods, Value: offer.Refuses, Effect: corev1.TaintEffectNoSchedule})
	}
	var own []corev1.Taint
	for _, t := range binding.Spec.VirtualNode.Taints {
		own = append(own, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	for _, taint := range append(own, reserved...) {
		if !slices.ContainsFunc(taints, func(other corev1.Taint) bool { return taintKey(other) == taintKey(taint) }) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// taintKey returns what identifies a taint in Kubernetes: its key and effect.
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

// Offer is what a provider offers.
type Offer struct {
	Nodes []corev1.Node
	// Unknown is set if the provider does not let the manager read its nodes.
	Unknown bool
	// Tolerable are the keys of the taints that consumers' pods may tolerate in the provider.
	Tolerable []string
	// VolumeTypes are the types of volumes that pods may describe themselves.
	VolumeTypes []string
	// Refuses is why the provider accepts no new pods at all, or empty. Such pods would wait on the virtual
	// node although nodes of the consumer are free.
	Refuses string
	// Kubelet is where the manager serves the kubelet API of the node.
	Kubelet Endpoint
	// Older are the bindings that get their share before this one, oldest first.
	Older []*v1alpha1.ClusterBinding
	// Member is the virtual node that the offer is for, and Rooms what each of them shows, by name. Both are empty for
	// the node of a provider without groups.
	Member Member
	Rooms  map[string]Room
	// Used is what pods request on virtual nodes of the binding that are to go, and that show no capacity.
	Used spill.Size
	// Foreign has the requests of pods that are not ours. It is nil if they are ignored. Unread is set while they are
	// not known yet.
	Foreign *connection.Foreign
	Unread  bool
	// Exact is set when small changes of what they leave are due to be shown.
	Exact bool
	// Growth is what new nodes would add, and Growths what they would add to each group, by its labels: see growing.
	Growth  corev1.ResourceList
	Growths map[string]corev1.ResourceList
	// Requested is what our pods request on the virtual node of each group, by its labels: see share. Unshared is set while
	// that is not known yet.
	Requested map[string]spill.Size
	Unshared  bool
}

// nodeName returns the name of the virtual node that the offer is for.
func (o Offer) nodeName(binding *v1alpha1.ClusterBinding) string {
	return cmp.Or(o.Member.Name, binding.VirtualNodeName())
}

// pace is the key of Reconciler.Pace for the virtual node. Each node has one of its own.
func (o Offer) pace(binding *v1alpha1.ClusterBinding) string {
	return cmp.Or(o.Member.Name, binding.Name)
}

// applyStatus sets the status of node for a provider that answers. The node has its labels already. If the
// offer is unknown, the node's capacity stays the same. Older bindings of the provider get their share first.
// If the binding does not say the provider's version, the node's version stays, because the binding's next
// status will have it again.
//
// On a frozen node, only the heartbeat and the address change. Logs are needed then too, and another manager
// may have taken over.
func applyStatus(node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer, now metav1.Time) {
	setAddress(node, offer.Kubelet)
	if frozen(binding) {
		beat(node, offer, now)
		return
	}
	if !offer.Unknown {
		setRoom(node, binding, offer)
		node.Status.DeclaredFeatures = declaredFeatures(offer)
	}
	node.Status.NodeInfo.KubeletVersion = cmp.Or(binding.Status.KubernetesVersion, node.Status.NodeInfo.KubeletVersion)
	node.Status.NodeInfo.OperatingSystem, node.Status.NodeInfo.Architecture = node.Labels[corev1.LabelOSStable], node.Labels[corev1.LabelArchStable]
	for _, wanted := range healthy(offer) {
		setCondition(&node.Status.Conditions, wanted, now)
	}
}
