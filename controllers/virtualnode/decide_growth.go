package virtualnode

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/elastic"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
)

// sharesMax reports whether groups of a binding divide what they can grow together.
func sharesMax(binding *v1alpha1.ClusterBinding) bool {
	e := binding.Spec.VirtualNode.Elastic
	return e != nil && len(e.Max) > 0 && len(e.Groups) > 1
}

// requestedOn returns what the pods on virtual nodes request, by the labels of their groups.
func requestedOn(virtual []*corev1.Node, pods []corev1.Pod) map[string]spill.Size {
	groups, requested := map[string]string{}, map[string]spill.Size{}
	for _, node := range virtual {
		if labels, ok := field.ParseGroup(node.Annotations[v1alpha1.AnnotationGroup]); ok && len(labels) > 0 {
			groups[node.Name] = labels.String()
		}
	}
	for i := range pods {
		if labels, grouped := groups[pods[i].Spec.NodeName]; grouped {
			requested[labels] = requested[labels].Plus(spill.InUse(&pods[i]))
		}
	}
	return requested
}

// share divides rest, which is what all groups can grow together, in proportion to what each of them misses. But what pods on
// the virtual node of a group request already, beyond what exists of the group, stays with it: no other group has that. So
// the shares do not change with each pod, only once a node of another group has taken some. While the requests are not known
// yet, the result is the most that each group may get.
func share(o Offer, e *v1alpha1.Elastic, missing []corev1.ResourceList, rest corev1.ResourceList) []corev1.ResourceList {
	if o.Unshared {
		for i := range missing {
			least(missing[i], rest)
		}
		return missing
	}
	taken, more := make([]corev1.ResourceList, len(missing)), make([]corev1.ResourceList, len(missing))
	for i := range missing {
		taken[i] = least(beyondExisting(o, &e.Groups[i]), missing[i])
	}
	taken = apportion(taken, rest)
	for i, part := range apportion(missing, rest) {
		more[i] = beyond(part, taken[i])
	}
	for i, part := range apportion(more, beyond(rest, sumOf(taken))) {
		plus(taken[i], part)
	}
	return taken
}

// beyondExisting returns what pods on the virtual node of a group request beyond what other pods leave on the nodes of the
// group.
func beyondExisting(o Offer, group *v1alpha1.ElasticGroup) corev1.ResourceList {
	labels := elastic.LabelsOf(group)
	requested, left := o.Requested[labels.String()].Requests(), corev1.ResourceList{}
	if len(requested) == 0 {
		return nil
	}
	for i := range o.Nodes {
		node := &o.Nodes[i]
		if !labels.Holds(node.Labels) || !o.TakesPods(node) {
			continue
		}
		for name, quantity := range o.left(node) {
			if offered(name, quantity) {
				plus(left, corev1.ResourceList{name: quantity})
			}
		}
	}
	return beyond(requested, left)
}
