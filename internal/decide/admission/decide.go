// Package admission decides, without any I/O, what a new pod of an offloaded namespace gets: the toleration
// and the node affinity that its NamespaceOffloading asks for.
//
// config/policy/pods.yaml has the same decision for API servers that can evaluate the policy. This package is
// for those that cannot. It has the same order and the same names. test/admission runs one table against
// both, and compares them on random pods.
package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
)

// Plan is what a pod gets. Its zero value changes nothing.
type Plan struct {
	// Toleration is added, unless it is nil.
	Toleration *corev1.Toleration
	// First are added: with spec.overflow, the tolerations of the virtual nodes of the first tier.
	First []corev1.Toleration
	// Required replaces the terms of the required node affinity, unless it is nil.
	Required []corev1.NodeSelectorTerm
	// Preferred is added to the preferences, unless it is nil.
	Preferred *corev1.PreferredSchedulingTerm
	// ByHost are the indices of the terms of required anti-affinity whose topology key becomes TopologyHost.
	ByHost []int
}

// Decide decides about a new pod. nso is the NamespaceOffloading of its namespace, or nil.
func Decide(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) Plan {
	if !concerns(pod, nso) {
		return Plan{}
	}
	remoteOnly := nso.Spec.PodOffloadingStrategy == v1alpha1.PodsRemote
	staysLocal := !remoteOnly && accept.BaselineRefusal(pod) != nil
	var described []string
	if !remoteOnly {
		described = accept.DescribedVolumes(pod)
	}
	allowed := Allowed(nso, described, staysLocal)
	restricts := remoteOnly || nso.Spec.Selector().NodeSelector() != nil || len(described) > 0
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
	plan.ByHost = byHost(pod, remoteOnly)
	if !staysLocal && !waitsForClaims(pod, nso) && !tolerates(pod, true) {
		plan.Toleration, plan.First = tolerations(pod, nso)
	}
	if nso.Spec.PodOffloadingStrategy == v1alpha1.PodsLocalFirst && !staysLocal && !prefersLocal(pod) {
		plan.Preferred = preference()
	}
	return plan
}

// tolerations returns a toleration of all virtual nodes or, with spec.overflow, what the pod lacks for the first
// tier.
func tolerations(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) (all *corev1.Toleration, tier []corev1.Toleration) {
	if len(nso.Spec.Overflow) > 0 {
		return nil, first(pod, nso)
	}
	return &corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, nil
}

// first returns the missing tolerations of the first tier. Which providers are in it, only the status says, unless it
// is about an earlier spec. The first that has any is meant. Providers that are full are left out: the manager adds what
// a smaller pod lacks, or the next tier. A local tier needs none.
func first(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) []corev1.Toleration {
	if nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote || nso.Status.ObservedGeneration != nso.Generation {
		return nil
	}
	for _, tier := range nso.Status.Overflow {
		if len(tier.Clusters) > 0 {
			return Missing(pod, slices.DeleteFunc(slices.Clone(tier.Clusters), func(id string) bool { return isFull(nso, id) }))
		}
	}
	return nil
}

// isFull reports whether a provider has refused pods of the namespace, of whatever size, and is left out until a time.
func isFull(nso *v1alpha1.NamespaceOffloading, clusterID string) bool {
	return nso.Spec.ReplacesUnschedulable() && slices.ContainsFunc(nso.Status.Full, func(f v1alpha1.FullProvider) bool { return f.Cluster == clusterID && f.Until != nil })
}

// Missing returns the tolerations of virtual nodes that a pod lacks.
func Missing(pod *corev1.Pod, clusterIDs []string) []corev1.Toleration {
	var missing []corev1.Toleration
	for _, id := range clusterIDs {
		if !Tolerates(pod, id) {
			missing = append(missing, corev1.Toleration{
				Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpEqual, Value: id, Effect: corev1.TaintEffectNoSchedule,
			})
		}
	}
	return missing
}

// Tolerates reports whether a pod tolerates the virtual node of a provider.
func Tolerates(pod *corev1.Pod, clusterID string) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		keyFits := t.Key == v1alpha1.TaintVirtualNode || (t.Key == "" && t.Operator == corev1.TolerationOpExists)
		valueFits := t.Operator == corev1.TolerationOpExists || t.Value == clusterID
		return keyFits && valueFits && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
	})
}

// concerns reports whether the pod may be changed. It is false for a pod that was bound to a node without the
// scheduler, and for a pod of a DaemonSet, whose controller chooses the node of each pod.
func concerns(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	return nso != nil && nso.DeletionTimestamp.IsZero() &&
		nso.Spec.PodOffloadingStrategy != v1alpha1.PodsLocal && nso.Spec.PodOffloadingStrategy != "" && pod.Spec.NodeName == "" &&
		!slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" })
}

// waitsForClaims reports whether the manager adds the pod's tolerations later, once its claims are bound.
func waitsForClaims(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	return nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote && len(needs.Claims(pod)) > 0
}

// tolerates reports whether the pod tolerates all virtual nodes, or, if all is false, at least one.
func tolerates(pod *corev1.Pod, all bool) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return (t.Key == "" || t.Key == v1alpha1.TaintVirtualNode) && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule) &&
			(!all || t.Operator == corev1.TolerationOpExists)
	})
}

// byHost returns the indices of the terms of required anti-affinity over hosts. A virtual node is no host: the pods
// on it can be on many. Only for a pod that never runs on a local node is the term of no use in the consumer.
func byHost(pod *corev1.Pod, remoteOnly bool) []int {
	if !remoteOnly || pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	var all []int
	for i, term := range pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if term.TopologyKey == corev1.LabelHostname {
			all = append(all, i)
		}
	}
	return all
}

// preference returns a preference for local nodes.
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

// requiredNodes returns the pod's own required node affinity, or nil.
func requiredNodes(pod *corev1.Pod) *corev1.NodeSelector {
	if affinity := nodeAffinity(pod); affinity != nil {
		return affinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}
