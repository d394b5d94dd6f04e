package unscheduledpod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

// Outdated reports whether a pod that waits for a node has the node affinity of an earlier version of its
// offloading. Kubernetes does not allow a change of it. So the pod waits for nodes that are no longer meant,
// or ignores nodes that are; only a new pod helps. A pod without affinity from the admission policy does not
// count.
func Outdated(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	terms := required(pod)
	if pod.Spec.NodeName != "" || !pod.DeletionTimestamp.IsZero() || !nso.DeletionTimestamp.IsZero() ||
		!slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return contains(t.MatchExpressions, admission.OnVirtual) }) {
		return false
	}
	allowed, restricts := allows(nso)
	if !restricts {
		// Then the policy adds no affinity. Users may ask for virtual nodes in general.
		return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
			return contains(t.MatchExpressions, admission.OnVirtual) && len(t.MatchExpressions)+len(t.MatchFields) > 1
		})
	}
	missing := slices.ContainsFunc(allowed, func(a corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return admission.Within(t, a) })
	})
	if missing || nso.Spec.PodOffloadingStrategy == v1alpha1.PodsLocal {
		return missing
	}
	return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchExpressions)+len(t.MatchFields) > 0 &&
			!slices.ContainsFunc(allowed, func(a corev1.NodeSelectorTerm) bool { return admission.Within(t, a) })
	})
}

// allows returns the terms that the admission policy would write into a pod's affinity, and whether it would
// write any.
func allows(nso *v1alpha1.NamespaceOffloading) (allowed []corev1.NodeSelectorTerm, restricts bool) {
	strategy := nso.Spec.PodOffloadingStrategy
	local := strategy == v1alpha1.PodsLocal
	return admission.Allowed(nso, nil, local), local || strategy == v1alpha1.PodsRemote || nso.Spec.Selector().NodeSelector() != nil
}

func required(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if keys := accept.DescribedVolumes(pod); len(keys) > 0 { // The policy requires these, whatever the offloading says.
		terms = slices.Clone(terms)
		for i := range terms {
			terms[i].MatchExpressions = slices.DeleteFunc(slices.Clone(terms[i].MatchExpressions), func(r corev1.NodeSelectorRequirement) bool { return slices.Contains(keys, r.Key) })
		}
	}
	return terms
}

func contains(requirements []corev1.NodeSelectorRequirement, wanted corev1.NodeSelectorRequirement) bool {
	return slices.ContainsFunc(requirements, func(r corev1.NodeSelectorRequirement) bool { return equality.Semantic.DeepEqual(r, wanted) })
}
