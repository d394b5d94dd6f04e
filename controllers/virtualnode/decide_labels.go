package virtualnode

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// addCommon adds to the wanted labels those kubelet labels on which all usable nodes of the provider agree,
// unless the binding sets them. Without them, pods that select by such labels would find no virtual node. If
// the offer says nothing about them, the node keeps the ones from Spillway. Otherwise a provider with one
// node that is away for a moment would cause two changes, at a time when it has no room for pods anyway.
func addCommon(wanted map[string]string, node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer, ours []string) {
	agreed := commonLabels(offer)
	for _, key := range field.NodeKeys {
		value, found := agreed[key]
		if agreed == nil && slices.Contains(ours, key) {
			value, found = node.Labels[key]
		}
		if _, set := binding.Spec.VirtualNode.Labels[key]; found && !set {
			wanted[key] = value
		}
	}
}

// commonLabels returns the labels that all usable nodes have with the same value; nil if nothing is known, or
// no node is usable. It ignores invalid labels, because the consumer would refuse the whole node for one.
func commonLabels(offer Offer) map[string]string {
	var common map[string]string
	for i := range offer.Nodes {
		node := &offer.Nodes[i]
		if offer.Unknown || !offer.TakesPods(node) {
			continue
		}
		if common == nil {
			common = map[string]string{}
			for _, key := range field.NodeKeys {
				if value := node.Labels[key]; value != "" && len(validation.IsValidLabelValue(value)) == 0 {
					common[key] = value
				}
			}
		}
		maps.DeleteFunc(common, func(key, value string) bool { return node.Labels[key] != value })
	}
	return common
}
