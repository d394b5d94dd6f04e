package podreturn

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// open reports whether a node is ready for new pods.
func open(node *corev1.Node) bool { return nodes.Closed(node) == "" }

// takes reports whether a node takes a pod, as far as taints, the node selector and the required node affinity say.
// The scheduler checks more. If that is why the successor does not start there, the return fails, and the next one
// waits longer.
func takes(node *corev1.Node, pod *corev1.Pod) bool {
	if len(nodes.Repelling(node, nodes.Matched(pod.Spec.Tolerations))) > 0 {
		return false
	}
	fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return err == nil && fits
}

// largest returns the most of each resource that others leave on any of the provider's nodes behind a virtual node.
func largest(of []corev1.Node, tolerated nodes.Tolerated, others *connection.Foreign) spill.Size {
	var sizes []spill.Size
	counting := nodes.Count(of, tolerated)
	for i := range of {
		sizes = append(sizes, spill.SizeOfList(counting.Of(&of[i], of[i].Status.Allocatable)).Minus(others.On(of[i].Name)))
	}
	return append(spill.Size{}, spill.Largest(sizes)...)
}

// together returns the sum of what others leave on the provider's nodes behind a virtual node that can grow: one for all
// groups, or for a group. The first also takes pods that none of these nodes takes.
func together(of []corev1.Node, all bool, tolerated nodes.Tolerated, others *connection.Foreign) (sum spill.Size) {
	counting := nodes.Count(of, tolerated)
	if all {
		counting = counting.Mixed()
	}
	for i := range of {
		sum = sum.Plus(spill.SizeOfList(counting.Of(&of[i], of[i].Status.Allocatable)).Minus(others.On(of[i].Name)))
	}
	return sum
}

// existing returns what of a virtual node of a provider that can grow exists. A pod that runs does not return to a node that
// may be started.
func existing(shown, exists spill.Size) spill.Size { return shown.Within(exists) }

// within limits a place to what a quota leaves to the pods of a namespace, which is left, and rest without what is promised to
// other namespaces. What is promised takes nothing from what counts as free: the time for which there has been room goes on.
func (p Place) within(left, rest quota.Amounts, own []quota.Pod) Place {
	usable := rest.Within(p.Free.Minus(p.Promised), own)
	p.Free = left.Within(p.Free, own)
	p.Promised = p.Free.Minus(usable)
	return p
}
