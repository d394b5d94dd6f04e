package clusterbinding

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// mostRecorded is how many virtual nodes the status can have: the groups of now, and those of before that still have
// pods.
const mostRecorded = 256

// speaks returns the node that the conditions are about, and that the ordered deletion handles next: of a binding with
// several virtual nodes, one that is not cordoned, and of these one that is not Ready. named is the Node with the name of
// the virtual node without a group, or nil. It speaks for itself if it belongs to somebody else.
func speaks(named *corev1.Node, virtual []*corev1.Node) *corev1.Node {
	if len(virtual) == 0 || len(virtual) == 1 && named != nil && virtual[0].Name == named.Name {
		return named
	}
	best := virtual[0]
	for _, node := range virtual[1:] {
		if rank(node) < rank(best) {
			best = node
		}
	}
	return best.DeepCopy() // The cache shares it.
}

func rank(node *corev1.Node) int {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	switch {
	case node.Spec.Unschedulable:
		return 3
	case i < 0:
		return 0
	case node.Status.Conditions[i].Reason != v1alpha1.ReasonNoUsableNodes:
		return 1
	default: // Others may have usable nodes.
		return 2
	}
}

// virtualNodes lists the virtual nodes, and those that somebody has deleted although they have pods. Managers read it to
// find these pods, and to restore their node.
func virtualNodes(s snapshot) []v1alpha1.VirtualNodeStatus {
	var all []v1alpha1.VirtualNodeStatus
	for _, node := range s.Virtual {
		all = append(all, recordOf(node))
	}
	if len(all) == 0 && s.OwnsNode() {
		all = append(all, recordOf(s.Node))
	}
	for _, before := range s.Binding.Status.VirtualNodes {
		there := slices.ContainsFunc(all, func(n v1alpha1.VirtualNodeStatus) bool { return n.Name == before.Name })
		if !there && s.Holds != nil && s.Holds(before.Name) {
			all = append(all, before)
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.VirtualNodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	return all[:min(len(all), mostRecorded)]
}

// recordOf returns what is recorded of a virtual node. An annotation that nobody can read is not.
func recordOf(node *corev1.Node) v1alpha1.VirtualNodeStatus {
	record := v1alpha1.VirtualNodeStatus{Name: node.Name}
	if group, ok := field.ParseGroup(node.Annotations[v1alpha1.AnnotationGroup]); ok {
		record.Group = group.String()
	}
	return record
}
