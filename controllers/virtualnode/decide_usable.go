package virtualnode

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// TakesPods reports whether a node of the provider is usable, which means that it accepts a consumer's pods.
func (o Offer) TakesPods(node *corev1.Node) bool {
	return node.Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual && o.closed(node) == ""
}

// closed says why a node does not accept a consumer's pods; "" if it does.
func (o Offer) closed(node *corev1.Node) string {
	switch {
	case !node.DeletionTimestamp.IsZero():
		return "being deleted"
	case node.Spec.Unschedulable:
		return "cordoned"
	case !field.IsNodeReady(node):
		return "not ready"
	case slices.ContainsFunc(node.Spec.Taints, o.repels):
		return "tainted"
	}
	return ""
}

// differs reports whether a node of the provider changed in anything that this package uses.
func differs(before, after *corev1.Node) bool {
	var o Offer // The zero value, so that each change of taints counts.
	return o.closed(before) != o.closed(after) ||
		before.Labels[v1alpha1.LabelNodeType] != after.Labels[v1alpha1.LabelNodeType] ||
		slices.ContainsFunc(field.NodeKeys, func(key string) bool { return before.Labels[key] != after.Labels[key] }) ||
		!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		!equality.Semantic.DeepEqual(before.Status.Allocatable, after.Status.Allocatable) ||
		!slices.Equal(before.Status.DeclaredFeatures, after.Status.DeclaredFeatures)
}

// mirrored are taints with which Kubernetes repeats, a moment later, what the node itself says. This package
// uses the original.
var mirrored = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable}

// repels reports whether a taint keeps all consumers' pods off a node. A taint that the provider lets pods
// tolerate keeps off only some of them.
func (o Offer) repels(taint corev1.Taint) bool {
	return taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.Contains(mirrored, taint.Key) && !slices.Contains(o.Tolerable, taint.Key) &&
		!slices.Contains(o.Tolerable, field.All)
}

// noneUsable says that no node of the provider accepts pods, and why; "" if one does, or a new one would.
func (o Offer) noneUsable() string {
	if hasRoom(o.Growth) {
		return ""
	}
	counts, keys, total := map[string]int{}, []string{}, 0
	for i := range o.Nodes {
		if o.Nodes[i].Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
			continue
		}
		why := o.closed(&o.Nodes[i])
		if why == "" {
			return ""
		}
		total++
		counts[why]++
		if why == "tainted" {
			keys = append(keys, o.keysOf(o.Nodes[i].Spec.Taints)...)
		}
	}
	switch {
	case total == 0 && o.Whole != nil:
		return "the provider has no nodes of this group"
	case total == 0:
		return "the provider has no nodes"
	}
	causes := make([]string, 0, len(counts))
	for why, count := range counts {
		causes = append(causes, fmt.Sprintf("%d %s", count, why))
	}
	slices.Sort(causes)
	message := "no node of the provider is usable: " + strings.Join(causes, ", ")
	if len(keys) > 0 {
		slices.Sort(keys)
		message += " (such as " + keys[0] + ")"
	}
	return message
}

// keysOf returns the keys of the taints that keep pods off. It ignores invalid keys, because a provider may
// report anything.
func (o Offer) keysOf(taints []corev1.Taint) []string {
	var keys []string
	for _, taint := range taints {
		if o.repels(taint) && len(validation.IsQualifiedName(taint.Key)) == 0 {
			keys = append(keys, taint.Key)
		}
	}
	return keys
}
