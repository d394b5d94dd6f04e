// Package toobig decides, without any I/O, whether a pod is too big for every node of a provider. The capacity of a
// virtual node is a sum, so the consumer's scheduler cannot see that.
package toobig

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
)

// Node is a node of a provider.
type Node struct {
	*corev1.Node
	// Used is what pods on it request, as far as that is known.
	Used spill.Size
	// New reports that it does not exist, and may be started. Then only the labels that it has here are known.
	New bool
}

// Why says what a pod requests and what the nodes have that may take it; empty if one has room, if there is none, or if
// they do not have enough together: then the provider is full. ever reports that the pod requests more than any of them
// has when it is empty.
func Why(remote *corev1.Pod, all []Node) (why string, ever bool) {
	size := spill.InUse(remote)
	var whole, free []spill.Size
	var sum spill.Size
	required := nodeaffinity.GetRequiredNodeAffinity(remote)
	tolerated := nodes.Named(remote.Spec.Tolerations)
	for _, node := range all {
		of := required
		if node.New {
			of = nodeaffinity.GetRequiredNodeAffinity(about(remote, node.Labels))
		}
		if matches, err := of.Match(node.Node); err != nil || !matches || !nodes.Takes(node.Node, tolerated) {
			continue
		}
		has := spill.SizeOfList(node.Status.Allocatable)
		left := has.Minus(node.Used)
		if left.Covers(size) {
			return "", false
		}
		whole, free, sum = append(whole, has), append(free, left), sum.Plus(left)
	}
	covers := func(of spill.Size) bool { return of.Covers(size) }
	switch {
	case len(whole) == 0:
		return "", false
	case !slices.ContainsFunc(whole, covers):
		return numbers(size, spill.Largest(whole), "largest"), true
	case sum.Covers(size):
		return numbers(size, spill.Largest(free), "largest free"), false
	}
	return "", false
}

// about returns a pod that requires of a node what the given one does, as far as it is about these labels.
func about(pod *corev1.Pod, labels map[string]string) *corev1.Pod {
	unknown := func(key string) bool { _, known := labels[key]; return !known }
	only := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: maps.Clone(pod.Spec.NodeSelector)}}
	maps.DeleteFunc(only.Spec.NodeSelector, func(key, _ string) bool { return unknown(key) })
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return only
	}
	required := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.DeepCopy()
	if required == nil {
		return only
	}
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // It matches no node.
		}
		term.MatchExpressions, term.MatchFields = slices.DeleteFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return unknown(r.Key) }), nil
		if len(term.MatchExpressions) == 0 {
			return only // A new node may meet this alternative.
		}
	}
	only.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	return only
}

// None reports whether no node of a group takes pods with these tolerations.
func None(tolerations []corev1.Toleration, group field.Group, all []Node) bool {
	tolerated := nodes.Named(tolerations)
	return !slices.ContainsFunc(all, func(node Node) bool { return group.Holds(node.Labels) && nodes.Takes(node.Node, tolerated) })
}

// numbers compares what a pod requests with the most that any node has. If no resource alone is too much, it says so.
func numbers(size, most spill.Size, which string) string {
	var lacks spill.Size
	for _, a := range size {
		if !most.Covers(spill.Size{a}) {
			lacks = append(lacks, a)
		}
	}
	if len(lacks) == 0 {
		return fmt.Sprintf("it requests %s, and no node has all of that, although others have each", size)
	}
	return fmt.Sprintf("it requests %s, and the %s node has %s", lacks, which, cmp.Or(most.Within(lacks).String(), "none of it"))
}
