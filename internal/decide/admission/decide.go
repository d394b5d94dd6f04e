// Package admission decides, without any I/O, what a new pod of an offloaded namespace
// gets: the toleration and the node affinity that its NamespaceOffloading asks for.
//
// It is the decision of config/policy/pods.yaml, which the API server evaluates where it
// can, written once more for those that cannot: in the same order, with the same names.
// test/admission runs one table against both, and compares them on pods made by chance.
package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

// Plan is what a pod gets. Its zero value is nothing.
type Plan struct {
	// Toleration is to be added, unless it is nil.
	Toleration *corev1.Toleration
	// Required replaces the terms of the required node affinity, unless it is nil.
	Required []corev1.NodeSelectorTerm
	// Preferred is to be added to the preferences, unless it is nil.
	Preferred *corev1.PreferredSchedulingTerm
}

// Decide handles a pod as it is created. nso is the NamespaceOffloading of its namespace,
// or nil.
func Decide(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) Plan {
	if !concerns(pod, nso) {
		return Plan{}
	}
	remoteOnly := nso.Spec.PodOffloadingStrategy == v1alpha1.PodsRemote
	staysLocal := !remoteOnly && translate.PodRefusal(pod) != nil
	var described []string
	if !remoteOnly {
		described = translate.DescribedVolumes(pod)
	}
	allowed := Allowed(nso, described, staysLocal)
	restricts := remoteOnly || nso.Spec.ClusterSelector.NodeSelector() != nil || len(described) > 0
	if staysLocal {
		restricts = tolerates(pod, false)
	}
	var plan Plan
	if restricts {
		own := requiredNodes(pod)
		if !fits(allowed, own) {
			return Plan{}
		}
		plan.Required = product(allowed, own)
	}
	if !staysLocal && !waitsForClaims(pod, nso) && !tolerates(pod, true) {
		plan.Toleration = &corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
	}
	if nso.Spec.PodOffloadingStrategy == v1alpha1.PodsLocalFirst && !staysLocal && !prefersLocal(pod) {
		plan.Preferred = preference()
	}
	return plan
}

// concerns reports whether the pod is one to change: neither bound to a node, past the
// scheduler, nor of a DaemonSet, whose controller chooses the node of each of its pods.
func concerns(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	return nso != nil && nso.DeletionTimestamp.IsZero() &&
		nso.Spec.PodOffloadingStrategy != v1alpha1.PodsLocal && nso.Spec.PodOffloadingStrategy != "" && pod.Spec.NodeName == "" &&
		!slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
}

// waitsForClaims reports whether the manager adds the pod's tolerations, once its claims are
// bound.
func waitsForClaims(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	return nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote && len(translate.Claims(pod)) > 0
}

// tolerates reports whether the pod tolerates all virtual nodes; or, if not all are meant,
// at least one.
func tolerates(pod *corev1.Pod, all bool) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == "" || t.Key == v1alpha1.TaintVirtualNode) && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule) &&
			(!all || t.Operator == corev1.TolerationOpExists)
	})
}

// preference is for local nodes.
func preference() *corev1.PreferredSchedulingTerm {
	const most = 100
	return &corev1.PreferredSchedulingTerm{Weight: most, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{OnLocal}}}
}

func prefersLocal(pod *corev1.Pod) bool {
	affinity := nodeAffinity(pod)
	return affinity != nil && slices.ContainsFunc(affinity.PreferredDuringSchedulingIgnoredDuringExecution, func(p corev1.PreferredSchedulingTerm) bool {
		return equality.Semantic.DeepEqual(&p, preference())
	})
}

func nodeAffinity(pod *corev1.Pod) *corev1.NodeAffinity {
	if pod.Spec.Affinity == nil {
		return nil
	}
	return pod.Spec.Affinity.NodeAffinity
}

// requiredNodes is the pod's own required node affinity, or nil.
func requiredNodes(pod *corev1.Pod) *corev1.NodeSelector {
	if affinity := nodeAffinity(pod); affinity != nil {
		return affinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}
