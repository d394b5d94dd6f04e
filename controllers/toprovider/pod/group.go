package pod

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// groupOf returns the group of the virtual node that a pod is on. It is not known if somebody has deleted the node, or
// has changed its annotation. The node without a group has none.
func groupOf(local *corev1.Pod, around decide.Inputs) (group field.Group, known bool) {
	group, listed := around.Groups[local.Spec.NodeName]
	if !listed {
		return nil, len(around.Groups) == 0 || local.Spec.NodeName == around.Node
	}
	return group, group != nil
}

// unknownGroup says why a pod waits.
func unknownGroup(local *corev1.Pod) field.Problem {
	return field.Problemf(v1alpha1.ReasonReferenceNotSynced, "the group of Node %s is not known, so it is not known on which of the provider's nodes the pod may run", local.Spec.NodeName)
}

// selectInGroup is selectNodes for a pod on the virtual node of a group, which has the labels of the group.
func selectInGroup(remote, local *corev1.PodSpec, t field.Target, group field.Group) {
	if len(group) > 0 {
		selectNodes(remote, local, t, group)
	}
	limitToGroup(remote, group)
}

// limitToGroup lets a remote pod run only on nodes of a group. The consumer's scheduler has compared the pod with the
// labels of the group, so the group's values take the place of what the pod asks for.
func limitToGroup(remote *corev1.PodSpec, group field.Group) {
	var lacking []corev1.NodeSelectorRequirement
	for _, key := range group.Keys() {
		if value := group[key]; value == nil {
			lacking = append(lacking, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpDoesNotExist})
			continue
		}
		selector := map[string]string{key: *group[key]}
		maps.Copy(selector, withoutKey(remote.NodeSelector, key))
		remote.NodeSelector = selector
	}
	if len(lacking) > 0 {
		require(remote, lacking)
	}
}

func withoutKey(all map[string]string, key string) map[string]string {
	rest := maps.Clone(all)
	delete(rest, key)
	return rest
}

// require adds requirements to each alternative of the required node affinity: they must hold in any case.
func require(remote *corev1.PodSpec, all []corev1.NodeSelectorRequirement) {
	if remote.Affinity == nil {
		remote.Affinity = &corev1.Affinity{}
	}
	if remote.Affinity.NodeAffinity == nil {
		remote.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	at := &remote.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *at == nil {
		*at = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range (*at).NodeSelectorTerms {
		term := &(*at).NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, all...)
	}
}
