package virtualnode

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/field"
)

// TakesPods reports whether a node of the provider is usable, which means that it accepts a consumer's pods, or those
// that request an extended resource. A taint that the provider lets pods tolerate keeps off only some of them.
func (o Offer) TakesPods(node *corev1.Node) bool {
	return !nodes.IsVirtual(node) && (o.closed(node) == "" || nodes.Reserved(node, o.tolerated()) != "")
}

// closed says why a node does not accept a consumer's pods; "" if it does.
func (o Offer) closed(node *corev1.Node) string {
	if why := nodes.Closed(node); why != "" || nodes.Takes(node, o.tolerated()) {
		return why
	}
	return "tainted"
}

// tolerated are the taints that pods may tolerate.
func (o Offer) tolerated() nodes.Tolerated { return nodes.Listed(o.Tolerable) }

// reservation returns the taint of a virtual node if all nodes behind it are kept for pods that request a resource. Then all
// that these nodes have counts, so other pods must stay away. If the offer says nothing about that, the node keeps the one
// from Spillway.
func reservation(node *corev1.Node, offer Offer, ours []string) []corev1.Taint {
	if name := offer.counting().Reserved; name != "" {
		return []corev1.Taint{{Key: string(name), Effect: corev1.TaintEffectNoSchedule}}
	}
	if growsFreely(offer) || !offer.Unknown && slices.ContainsFunc(offer.Nodes, func(n corev1.Node) bool { return offer.TakesPods(&n) }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectNoSchedule || t.Value != "" || !field.IsExtendedResource(t.Key) || !slices.Contains(ours, taintKey(t)) || field.IsOurs(t.Key)
	})
}

// counting says what of its nodes counts.
func (o Offer) counting() nodes.Counting {
	counting := nodes.Count(o.Nodes, o.tolerated())
	if growsFreely(o) {
		return counting.Mixed()
	}
	return counting
}

// growsFreely reports whether a new node may be of any kind. Nodes of one group are alike.
func growsFreely(o Offer) bool { return len(o.Member.Labels) == 0 && hasRoom(o.Growth) }

// differs reports whether a node of the provider changed in anything that this package uses.
func differs(before, after *corev1.Node) bool {
	var o Offer // The zero value, so that each change of taints counts.
	return o.closed(before) != o.closed(after) || broken(before) != broken(after) ||
		before.Labels[v1alpha1.LabelNodeType] != after.Labels[v1alpha1.LabelNodeType] ||
		slices.ContainsFunc(field.NodeKeys, func(key string) bool { return before.Labels[key] != after.Labels[key] }) ||
		!equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		!equality.Semantic.DeepEqual(before.Status.Allocatable, after.Status.Allocatable) ||
		!slices.Equal(before.Status.DeclaredFeatures, after.Status.DeclaredFeatures)
}

// noneUsable says that no node of the provider accepts pods, and why; "" if one does, or a new one would.
func (o Offer) noneUsable() string {
	if o.counting().Reserved != "" || hasRoom(o.Growth) {
		return ""
	}
	counts, keys, total := map[string]int{}, []string{}, 0
	for i := range o.Nodes {
		if nodes.IsVirtual(&o.Nodes[i]) {
			continue
		}
		why := o.closed(&o.Nodes[i])
		if why == "" {
			return ""
		}
		total++
		counts[why]++
		if why == "tainted" {
			keys = append(keys, o.keysOf(&o.Nodes[i])...)
		}
	}
	switch {
	case total == 0 && o.Member.Name != "":
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
func (o Offer) keysOf(node *corev1.Node) []string {
	return slices.DeleteFunc(nodes.Repelling(node, o.tolerated()), func(key string) bool { return len(validation.IsQualifiedName(key)) > 0 })
}
