package unscheduledpod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

var (
	onVirtual = corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1alpha1.NodeTypeVirtual}}
	onLocal   = corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpDoesNotExist}
)

// Outdated reports whether a pod that waits for a node has the node affinity of an
// earlier version of its offloading. Kubernetes does not allow that to change, so the
// pod waits for nodes that are no longer meant, or ignores those that are: only a new
// pod helps. A pod without affinity from the admission policy does not count.
func Outdated(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	terms := required(pod)
	if pod.Spec.NodeName != "" || !pod.DeletionTimestamp.IsZero() || !nso.DeletionTimestamp.IsZero() ||
		!slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return contains(t.MatchExpressions, onVirtual) }) {
		return false
	}
	allowed, restricts := allows(nso)
	if !restricts {
		// The policy adds nothing then. Users ask for virtual nodes as such.
		return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
			return contains(t.MatchExpressions, onVirtual) && len(t.MatchExpressions)+len(t.MatchFields) > 1
		})
	}
	missing := slices.ContainsFunc(allowed, func(a corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return within(t, a) })
	})
	if missing || nso.Spec.PodOffloadingStrategy == v1alpha1.PodsLocal {
		return missing
	}
	return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchExpressions)+len(t.MatchFields) > 0 &&
			!slices.ContainsFunc(allowed, func(a corev1.NodeSelectorTerm) bool { return within(t, a) })
	})
}

// allows are the alternatives that the admission policy would write into a pod's
// affinity, and whether it would write any.
func allows(nso *v1alpha1.NamespaceOffloading) (allowed []corev1.NodeSelectorTerm, restricts bool) {
	local := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{onLocal}}
	if nso.Spec.PodOffloadingStrategy == v1alpha1.PodsLocal {
		return []corev1.NodeSelectorTerm{local}, true
	}
	selector := nso.Spec.ClusterSelector.NodeSelector()
	if selector == nil {
		selector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for _, term := range selector.NodeSelectorTerms {
		term.MatchExpressions = append([]corev1.NodeSelectorRequirement{onVirtual}, term.MatchExpressions...)
		allowed = append(allowed, term)
	}
	if nso.Spec.PodOffloadingStrategy == v1alpha1.PodsRemote {
		return allowed, true
	}
	return append(allowed, local), nso.Spec.ClusterSelector.NodeSelector() != nil
}

func required(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if keys := translate.DescribedVolumes(pod); len(keys) > 0 { // The policy requires these, whatever the offloading says.
		terms = slices.Clone(terms)
		for i := range terms {
			terms[i].MatchExpressions = slices.DeleteFunc(slices.Clone(terms[i].MatchExpressions), func(r corev1.NodeSelectorRequirement) bool { return slices.Contains(keys, r.Key) })
		}
	}
	return terms
}

// within reports whether a term requires all that another one does.
func within(term, other corev1.NodeSelectorTerm) bool {
	for _, r := range other.MatchExpressions {
		if !contains(term.MatchExpressions, r) {
			return false
		}
	}
	for _, r := range other.MatchFields {
		if !contains(term.MatchFields, r) {
			return false
		}
	}
	return true
}

func contains(requirements []corev1.NodeSelectorRequirement, wanted corev1.NodeSelectorRequirement) bool {
	return slices.ContainsFunc(requirements, func(r corev1.NodeSelectorRequirement) bool { return equality.Semantic.DeepEqual(r, wanted) })
}
