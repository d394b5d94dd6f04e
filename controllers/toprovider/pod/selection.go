package pod

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// sameEverywhere are the labels whose values mean the same in every cluster, with their former names.
var sameEverywhere = []string{corev1.LabelArchStable, corev1.LabelOSStable, "beta.kubernetes.io/arch", "beta.kubernetes.io/os"}

// selectNodes copies what the local pod requires of labels that the provider's nodes have, too. The
// provider's scheduler needs these requirements because its nodes may differ in them. All others
// concern the virtual node. The consumer's scheduler has checked them. So it has those about the labels of a group, which
// limitToGroup sends.
func selectNodes(remote, local *corev1.PodSpec, t field.Target, group field.Group) {
	there := func(key string) bool {
		_, known := group[key]
		return !known && slices.Contains(sameEverywhere, key) ||
			!known && slices.Contains(field.NodeKeys, key) && !slices.Contains(strings.Split(t.Named, ","), key)
	}
	remote.NodeSelector, remote.Affinity = nil, nil
	for key, value := range local.NodeSelector {
		if there(key) {
			if remote.NodeSelector == nil {
				remote.NodeSelector = map[string]string{}
			}
			remote.NodeSelector[key] = value
		}
	}
	if local.Affinity == nil || local.Affinity.NodeAffinity == nil || local.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	if terms := termsThere(local.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, there, nodeOf(local, t, group), group); len(terms) > 0 {
		remote.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

// termsThere returns the alternatives of a node affinity that apply to the provider's nodes, each once.
// It returns none if one of them allows any node. It leaves out alternatives that the virtual node does
// not meet: they are for other nodes of the consumer.
func termsThere(alternatives []corev1.NodeSelectorTerm, there func(key string) bool, node *corev1.Node, group field.Group) []corev1.NodeSelectorTerm {
	var terms []corev1.NodeSelectorTerm
	ofNode := func(key string) bool {
		_, known := group[key]
		return known && key != corev1.LabelHostname || key == v1alpha1.LabelNodeType || key == v1alpha1.LabelCluster
	}
	for _, alternative := range alternatives {
		var wanted, here corev1.NodeSelectorTerm
		here.MatchFields = alternative.MatchFields
		for _, r := range alternative.MatchExpressions {
			if there(r.Key) {
				wanted.MatchExpressions = append(wanted.MatchExpressions, *r.DeepCopy())
			} else if ofNode(r.Key) {
				here.MatchExpressions = append(here.MatchExpressions, r)
			}
		}
		switch {
		case len(alternative.MatchExpressions)+len(alternative.MatchFields) == 0, !allowsVirtualNode(here, node):
		case len(wanted.MatchExpressions) == 0:
			return nil
		case !slices.ContainsFunc(terms, func(other corev1.NodeSelectorTerm) bool { return equality.Semantic.DeepEqual(other, wanted) }):
			terms = append(terms, wanted)
		}
	}
	return terms
}

// allowsVirtualNode reports whether the virtual node meets a term, or the term requires nothing.
func allowsVirtualNode(term corev1.NodeSelectorTerm, node *corev1.Node) bool {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return true
	}
	selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	return err == nil && selector.Match(node)
}

// nodeOf returns what is known of the virtual node that a pod is on, from the pod and the group of the node.
func nodeOf(local *corev1.PodSpec, t field.Target, group field.Group) *corev1.Node {
	known := map[string]string{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual, v1alpha1.LabelCluster: t.Mark.ClusterID}
	for key, value := range group {
		if value != nil && key != corev1.LabelHostname { // The hostname of a virtual node is its name.
			known[key] = *value
		}
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: cmp.Or(local.NodeName, v1alpha1.VirtualNodePrefix+t.Mark.ClusterID), Labels: known}}
}
