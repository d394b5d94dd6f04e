// Package elastic decides, without any I/O, which pods a provider that grows may start a node for
// (spec.virtualNode.elastic).
package elastic

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
)

// LabelsOf returns the labels of a group that can grow.
func LabelsOf(group *v1alpha1.ElasticGroup) field.Group {
	labels := field.Group{}
	for key, value := range group.Labels {
		text := string(value)
		labels[key] = &text
	}
	return labels
}

// Groups returns the groups that can grow behind the virtual node with these labels: all of them behind the node of all
// groups, and at most one behind another.
func Groups(e *v1alpha1.Elastic, labels field.Group) []*v1alpha1.ElasticGroup {
	var found []*v1alpha1.ElasticGroup
	if e == nil {
		return nil
	}
	for i := range e.Groups {
		if len(labels) == 0 || LabelsOf(&e.Groups[i]).String() == labels.String() {
			found = append(found, &e.Groups[i])
		}
	}
	return found
}

// Patience returns how long a pod on the virtual node with these labels waits for a new node; 0: none would have room for
// it, or the provider does not grow there. How many nodes there are already is not asked: the scheduler has found room
// in what the virtual node shows.
func Patience(e *v1alpha1.Elastic, labels field.Group, pod *corev1.Pod) time.Duration {
	if e == nil {
		return 0
	}
	size := spill.InUse(pod)
	covers := func(list corev1.ResourceList) bool { return spill.SizeOfList(list).Covers(size) }
	groups := Groups(e, labels)
	if len(e.Groups) == 0 && covers(e.Max) || slices.ContainsFunc(groups, func(g *v1alpha1.ElasticGroup) bool { return covers(g.Offers()) }) {
		return e.Patience()
	}
	return 0
}
