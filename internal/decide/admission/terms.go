package admission

import (
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// In Kubernetes, terms are alternatives, and a node must meet all requirements of a term. A
// NamespaceOffloading allows a list of terms, and the pod's own required affinity is another list. The pod
// may run where both agree, which is the product of the two lists.

// The requirements for a virtual node, and for a local node.
var (
	OnVirtual = corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1alpha1.NodeTypeVirtual}}
	OnLocal   = corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpDoesNotExist}
)

// mostTerms is the largest size of the product, in bytes, estimated. If the product is larger, the pod stays
// as it is, because the API server might not have room for it.
const mostTerms = 256 << 10

// Allowed returns the nodes that the offloading allows. described are the labels of the volume types that the
// pod describes. staysLocal reports that the pod may run on local nodes only.
func Allowed(nso *v1alpha1.NamespaceOffloading, described []string, staysLocal bool) []corev1.NodeSelectorTerm {
	local := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{OnLocal}}
	if staysLocal {
		return []corev1.NodeSelectorTerm{local}
	}
	virtual := []corev1.NodeSelectorRequirement{OnVirtual}
	for _, label := range described {
		virtual = append(virtual, corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpExists})
	}
	selector := nso.Spec.Selector().NodeSelector()
	if selector == nil {
		selector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		term.MatchExpressions = slices.Concat(virtual, term.MatchExpressions)
	}
	if nso.Spec.PodOffloadingStrategy == v1alpha1.PodsRemote {
		return selector.NodeSelectorTerms
	}
	return append(selector.NodeSelectorTerms, local)
}

// product returns the terms that are both allowed and required. A missing affinity matches any node. A term
// without requirements matches no node, and stays. So does a term within the allowed ones, so that the
// affinity of a pod that was already processed does not grow.
func product(allowed []corev1.NodeSelectorTerm, own *corev1.NodeSelector) []corev1.NodeSelectorTerm {
	if own == nil {
		return allowed
	}
	terms := []corev1.NodeSelectorTerm{}
	for _, t := range own.NodeSelectorTerms {
		nowhere := len(t.MatchExpressions)+len(t.MatchFields) == 0
		if nowhere || slices.ContainsFunc(allowed, func(a corev1.NodeSelectorTerm) bool { return Within(t, a) }) {
			terms = append(terms, t)
			continue
		}
		for _, a := range allowed {
			terms = append(terms, corev1.NodeSelectorTerm{
				MatchExpressions: slices.Concat(t.MatchExpressions, a.MatchExpressions),
				MatchFields:      slices.Concat(t.MatchFields, a.MatchFields),
			})
		}
	}
	return terms
}

// Within reports whether a term has all requirements of another term.
func Within(term, other corev1.NodeSelectorTerm) bool {
	return containsAll(term.MatchExpressions, other.MatchExpressions) && containsAll(term.MatchFields, other.MatchFields)
}

func containsAll(all, wanted []corev1.NodeSelectorRequirement) bool {
	return !slices.ContainsFunc(wanted, func(w corev1.NodeSelectorRequirement) bool {
		return !slices.ContainsFunc(all, func(r corev1.NodeSelectorRequirement) bool { return equality.Semantic.DeepEqual(r, w) })
	})
}

// fits reports whether the size of the product is within mostTerms.
func fits(allowed []corev1.NodeSelectorTerm, own *corev1.NodeSelector) bool {
	return own == nil || size(allowed)*len(own.NodeSelectorTerms)+size(own.NodeSelectorTerms)*len(allowed) <= mostTerms
}

// size returns the estimated size of terms, as the policy counts it.
func size(terms []corev1.NodeSelectorTerm) int {
	const aRequirement, aValue = 64, 4
	total := 0
	for i := range terms {
		for _, requirements := range [][]corev1.NodeSelectorRequirement{terms[i].MatchExpressions, terms[i].MatchFields} {
			for j := range requirements {
				total += aRequirement + utf8.RuneCountInString(requirements[j].Key)
				for _, value := range requirements[j].Values {
					total += aValue + utf8.RuneCountInString(value)
				}
			}
		}
	}
	return total
}
