package unscheduledpod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/successor"
	"github.com/spillway-io/spillway/internal/field"
)

// Fate is what happens to a pod that waits for a node when its namespace is no longer offloaded. Kubernetes
// allows no change of its affinity and no removal of a toleration.
type Fate string

const (
	// Stays: the pod continues to wait for a node on which it may run.
	Stays Fate = ""
	// Recreated: the pod is evicted, and its controller creates one that is not meant for virtual nodes.
	Recreated Fate = "Remade"
	// Stranded: the pod would wait forever, and nobody would recreate it. Its owner is told.
	Stranded Fate = "Stranded"
)

// FateOf decides about a pod that waits for a node. nso is the NamespaceOffloading of its namespace, which is
// being deleted. bindings are all bindings.
//
// A pod that was created after the deletion of nso was requested is left alone, because admission did not
// change it: it is as its owner wants it. Otherwise a template that asks for virtual nodes itself would cause
// creations and evictions without end.
//
// A pod that may also run on local nodes could still get to a virtual node later, and would hang there. So it
// is recreated, unless that has a price: a deleted pod of a Job counts as a failure.
func FateOf(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading, bindings placement.Index) Fate {
	if nso.DeletionTimestamp.IsZero() || nso.DeletionTimestamp.Before(&pod.CreationTimestamp) || pod.Spec.NodeName != "" || !pod.DeletionTimestamp.IsZero() {
		return Stays
	}
	virtual := OnlyVirtual(pod)
	switch follows := successor.Of(pod); {
	case (follows == successor.Another || follows == successor.SameName) && (virtual || prepared(pod)), follows == successor.Failure && virtual:
		return Recreated
	case Strands(pod, bindings):
		return Stranded
	default:
		return Stays
	}
}

// Strands reports whether a pod waits forever if its namespace is not offloaded, because it can run only on
// virtual nodes. A binding with a mountNamespace accepts pods of such namespaces if they may run on its node.
// A pod of a DaemonSet belongs to one node, and is recreated for it.
func Strands(pod *corev1.Pod, bindings placement.Index) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() && !isDaemonSetPod(pod) && OnlyVirtual(pod) &&
		!slices.ContainsFunc(bindings.Usable(), func(b *v1alpha1.ClusterBinding) bool {
			return b.Spec.MountNamespace != "" && b.DeletionTimestamp.IsZero() && mayTake(b, required(pod))
		})
}

// mayTake reports whether the virtual node of a binding meets a pod's requirements on nodes. The binding does
// not know the labels of the provider's nodes, so any requirement on those counts as met.
func mayTake(binding *v1alpha1.ClusterBinding, terms []corev1.NodeSelectorTerm) bool {
	terms = slices.Clone(terms)
	for i := range terms {
		terms[i].MatchExpressions = slices.DeleteFunc(slices.Clone(terms[i].MatchExpressions), func(r corev1.NodeSelectorRequirement) bool {
			return slices.Contains(field.NodeKeys, r.Key)
		})
	}
	matches, err := placement.Matches(&corev1.NodeSelector{NodeSelectorTerms: terms}, binding)
	return matches && err == nil
}

// OnlyVirtual reports whether the pod can run on virtual nodes only.
func OnlyVirtual(pod *corev1.Pod) bool {
	asks := false
	for _, term := range required(pod) {
		virtual, matchesNone := contains(term.MatchExpressions, admission.OnVirtual), len(term.MatchExpressions)+len(term.MatchFields) == 0
		if !virtual && !matchesNone {
			return false
		}
		asks = asks || virtual
	}
	return asks
}

// prepared reports whether the pod tolerates all virtual nodes, or one of them.
func prepared(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.Key == v1alpha1.TaintVirtualNode })
}
