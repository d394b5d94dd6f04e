package pod

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// place sends what the local pod asks of its node in the provider, besides the requirements that selectNodes
// sends: topology spread, affinity and anti-affinity to other pods, and preferred labels of nodes.
//
// The pod never waits because a part cannot be sent: it would wait for ever, beside a provider with room. A
// part that the pod requires is named in an annotation of the remote pod, from which remarkOn tells the pod's
// owner. A preference that cannot be sent is not named.
func place(remote, local *corev1.Pod, t field.Target, in decide.Inputs) {
	p := &placement{local: local, remote: remote, target: t, in: in}
	remote.Spec.TopologySpreadConstraints = p.constraints()
	if wanted := local.Spec.Affinity; wanted != nil {
		var affinity corev1.Affinity
		if remote.Spec.Affinity != nil {
			affinity = *remote.Spec.Affinity
		}
		affinity.NodeAffinity = p.withPreferred(affinity.NodeAffinity, wanted.NodeAffinity)
		affinity.PodAffinity, affinity.PodAntiAffinity = p.podAffinity(wanted.PodAffinity), p.podAntiAffinity(wanted.PodAntiAffinity)
		if affinity != (corev1.Affinity{}) {
			remote.Spec.Affinity = &affinity
		}
	}
	if len(p.omitted) > 0 {
		remote.Annotations[v1alpha1.AnnotationLeftOut] = field.DescribeOmissions("", p.omitted)
	}
}

// Reasons why a part is left out.
const (
	sharesNamespace = "pods of other namespaces are in its remote namespace"
	noNamespace     = "no namespace that it names is in the provider"
	noPod           = "no pod that it selects is in the provider where this one may run"
)

// mostParts is the most constraints and terms, and the most preferences for nodes, of a pod that are sent. Kubernetes
// sets no limit.
const mostParts = 100

// softened reports whether the pod's owner wants what it requires of its place to be a preference in the provider.
func softened(local *corev1.Pod) bool {
	return local.Annotations[v1alpha1.AnnotationPlacement] == v1alpha1.PlacementPreferred
}

// placement translates what one pod asks of its node.
type placement struct {
	local   *corev1.Pod
	remote  *corev1.Pod // It has its requirements on nodes already, those of its group too.
	target  field.Target
	in      decide.Inputs
	parts   int // How many constraints and terms were translated so far.
	terms   int // How many of these terms name namespaces.
	names   int // How many names of namespaces these became.
	omitted []field.Omission

	subsetKey *string // See subset.

	// What was asked before: many parts of a pod may ask for the same.
	labels map[string]nodeLabel
	near   map[string][]*corev1.Pod
}

// nodeLabel says which nodes of the provider have a label.
type nodeLabel struct{ some, all, known bool }

func (p *placement) omit(path, why string) {
	p.omitted = append(p.omitted, field.Omission{Field: path, Why: why})
}

// topologyKey returns the label of the provider's nodes that a topology key of the pod stands for. What is required
// must be a label of all nodes that may take the pod, because the scheduler leaves out the others. topologyKey returns "" if the part is
// not sent. Then why is the reason, or "" if the key is about virtual nodes alone, so that the
// consumer's scheduler has done all there is to do.
func (p *placement) topologyKey(key string, required bool) (there, why string) {
	switch p.parts++; {
	case p.parts > mostParts:
		return "", fmt.Sprintf("the pod has more than %d constraints and terms", mostParts)
	case key == v1alpha1.TopologyHost, key == corev1.LabelHostname: // Each kubelet sets it.
		return corev1.LabelHostname, ""
	case field.IsOurs(key):
		return "", ""
	}
	switch nodes := p.nodesHave(key); {
	case nodes.all, nodes.some && !required:
		return key, ""
	case nodes.some: // Without the others, the pod may find no room.
		return "", "not all nodes of the provider that may take the pod have the label " + key
	case !nodes.known:
		return "", "it is unknown whether nodes of the provider have the label " + key
	default:
		return "", "no node of the provider that the pod selects has the label " + key
	}
}

func (p *placement) nodesHave(key string) nodeLabel {
	if known, asked := p.labels[key]; asked || p.in.NodesHave == nil {
		return known
	}
	if p.labels == nil {
		p.labels = map[string]nodeLabel{}
	}
	var nodes nodeLabel
	nodes.some, nodes.all, nodes.known = p.in.NodesHave(p.remote, key)
	p.labels[key] = nodes
	return nodes
}

// fullSelector returns a selector of local pods to which the keys whose values come from the pod's own labels are added
// as requirements. A newer API server of the consumer has added these already. It returns why there is none if remote
// pods lack one of the labels. field.PodSelector makes it one of remote pods.
func fullSelector(pod *corev1.Pod, limits *field.Limits, local *metav1.LabelSelector, match, mismatch []string) (full *metav1.LabelSelector, why string) {
	full = local.DeepCopy()
	add := func(operator metav1.LabelSelectorOperator, keys []string) {
		for _, key := range keys {
			value, has := pod.Labels[key]
			r := metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
			if has && !slices.ContainsFunc(full.MatchExpressions, func(o metav1.LabelSelectorRequirement) bool { return equality.Semantic.DeepEqual(o, r) }) {
				full.MatchExpressions = append(full.MatchExpressions, r)
			}
		}
	}
	add(metav1.LabelSelectorOpIn, match)
	add(metav1.LabelSelectorOpNotIn, mismatch)
	if key := field.UnsentLabel(full, limits); key != "" {
		return nil, "it selects pods by the label " + key + ", which is not sent"
	}
	return full, ""
}

// withPreferred adds the preferred labels of nodes to a node affinity, which may be nil. It leaves out each
// preference that is about another label than those that the provider's nodes have.
func (p *placement) withPreferred(there, local *corev1.NodeAffinity) *corev1.NodeAffinity {
	if local == nil {
		return there
	}
	var preferred []corev1.PreferredSchedulingTerm
	for i := range local.PreferredDuringSchedulingIgnoredDuringExecution {
		term := &local.PreferredDuringSchedulingIgnoredDuringExecution[i]
		if i >= mostParts {
			break
		}
		foreign := func(r corev1.NodeSelectorRequirement) bool { return !p.prefers(r.Key) }
		if wanted := term.Preference; len(wanted.MatchFields) == 0 && len(wanted.MatchExpressions) > 0 && !slices.ContainsFunc(wanted.MatchExpressions, foreign) {
			preferred = append(preferred, *term.DeepCopy())
		}
	}
	switch {
	case preferred == nil:
		return there
	case there == nil:
		there = &corev1.NodeAffinity{}
	}
	there.PreferredDuringSchedulingIgnoredDuringExecution = preferred
	return there
}

// prefers reports whether a preference for a label of nodes means something in the provider. Other labels would let a
// pod choose its node there, such as one that is next to another tenant. A label that the binding sets on the virtual
// node has the consumer's values.
func (p *placement) prefers(key string) bool {
	switch {
	case slices.Contains(sameEverywhere, key):
		return true
	case slices.Contains(strings.Split(p.target.Named, ","), key):
		return false
	}
	return slices.Contains(preferable, key) && p.nodesHave(key).some
}

// preferable are the labels besides sameEverywhere that preferences are sent about.
var preferable = append([]string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion}, field.NodeKeys...)
