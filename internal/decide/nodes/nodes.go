// Package nodes decides, without any I/O, which pods a node takes, as far as the node itself and its taints say. Whoever
// asks says which taints count as tolerated:
//   - the pods of a consumer, before there is one: those that the provider's limits list (Listed);
//   - a pod in the provider: those that its tolerations name (Named), since the cache has no values of taints;
//   - a pod in the consumer: those that its tolerations match (Matched).
package nodes

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Tolerated reports whether a taint keeps a pod, or some pods, not off a node.
type Tolerated func(taint *corev1.Taint) bool

// Takes reports whether a node takes pods that tolerate these taints.
func Takes(node *corev1.Node, tolerated Tolerated) bool {
	return Closed(node) == "" && len(Repelling(node, tolerated)) == 0
}

// Closed says why a node takes no new pods, whatever they tolerate; "" if it takes some.
func Closed(node *corev1.Node) string {
	switch {
	case !node.DeletionTimestamp.IsZero():
		return "being deleted"
	case node.Spec.Unschedulable:
		return "cordoned"
	case !field.IsNodeReady(node):
		return "not ready"
	}
	return ""
}

// mirrored are taints with which Kubernetes repeats, a moment later, what the node itself says. Closed uses the original.
var mirrored = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable}

// Repelling returns the keys of the taints that keep pods off a node.
func Repelling(node *corev1.Node, tolerated Tolerated) (keys []string) {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.Contains(mirrored, taint.Key) && !tolerated(taint) {
			keys = append(keys, taint.Key)
		}
	}
	return keys
}

// Reserved returns the extended resource for whose users a node is kept: it has some of it, and only taints of that name
// keep pods off. A pod that requests the resource may tolerate them, whatever the provider's limits list
// (field.ToleratesForResource). Reserved returns "" if the node takes other pods, or none.
func Reserved(node *corev1.Node, tolerated Tolerated) corev1.ResourceName {
	if Closed(node) != "" {
		return ""
	}
	keys := slices.Compact(Repelling(node, tolerated))
	if len(keys) != 1 || !field.IsExtendedResource(keys[0]) {
		return ""
	}
	name := corev1.ResourceName(keys[0])
	if has := node.Status.Allocatable[name]; has.Sign() <= 0 {
		return ""
	}
	return name
}

// IsVirtual reports whether a node is a virtual one: its pods run in another cluster.
func IsVirtual(node *corev1.Node) bool {
	return node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual
}

// Listed tolerates the taints with these keys, and all if field.All is among them.
func Listed(keys []string) Tolerated {
	return func(taint *corev1.Taint) bool { return field.ListsOrAll(keys, taint.Key) }
}

// Named tolerates what these tolerations of a pod name. The values of taints do not count.
func Named(tolerations []corev1.Toleration) Tolerated {
	return func(taint *corev1.Taint) bool {
		return slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool {
			return (t.Key == "" || t.Key == taint.Key) && (t.Effect == "" || t.Effect == taint.Effect)
		})
	}
}

// Matched tolerates what these tolerations of a pod in the consumer match, as its scheduler decides, and the taint of
// virtual nodes: the manager opens these.
func Matched(tolerations []corev1.Toleration) Tolerated {
	return func(taint *corev1.Taint) bool {
		return taint.Key == v1alpha1.TaintVirtualNode ||
			slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(logr.Discard(), taint, false) })
	}
}

// Counting says what of the nodes behind one virtual node counts as its capacity.
type Counting struct {
	// Reserved is the extended resource for whose users all these nodes are kept, as far as they take pods; "" if there is
	// no such resource. Then so is the virtual node, and all that the nodes have counts.
	Reserved  corev1.ResourceName
	tolerated Tolerated
}

// Count looks at all nodes behind a virtual node.
func Count(all []corev1.Node, tolerated Tolerated) Counting {
	counting := Counting{tolerated: tolerated}
	for i := range all {
		node := &all[i]
		switch name := Reserved(node, tolerated); {
		case IsVirtual(node):
		case name == "" && Takes(node, tolerated), counting.Reserved != "" && name != "" && name != counting.Reserved:
			return Counting{tolerated: tolerated}
		case name != "":
			counting.Reserved = name
		}
	}
	return counting
}

// Mixed returns what counts behind a virtual node of which new nodes need not be kept for anything. So it is not kept either.
func (c Counting) Mixed() Counting {
	c.Reserved = ""
	return c
}

// Of returns what counts of a node's resources. Of a node that is kept for users of a resource, among others that are
// not, it is this resource alone: other pods, which the scheduler may place on the virtual node, cannot use the rest.
func (c Counting) Of(node *corev1.Node, has corev1.ResourceList) corev1.ResourceList {
	name := Reserved(node, c.tolerated)
	switch {
	case IsVirtual(node):
		return nil
	case name == "" && !Takes(node, c.tolerated):
		return nil
	case name == c.Reserved, name == "":
		return has
	}
	return corev1.ResourceList{name: has[name]}
}
