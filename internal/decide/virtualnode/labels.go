package virtualnode

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

// addCommon adds to the wanted labels of a node those of kubelets on which all usable
// nodes of the provider agree, unless the binding says otherwise. Pods that select by
// them would find no virtual node. Where the offer says nothing of them, the node keeps
// those of ours that it has: a provider whose only node is away for a moment would
// change them twice, while there is no room for pods anyhow.
func addCommon(wanted map[string]string, node *corev1.Node, binding *v1alpha1.ClusterBinding, offer Offer, ours []string) {
	agreed := commonLabels(offer)
	for _, key := range translate.NodeKeys {
		value, found := agreed[key]
		if agreed == nil && slices.Contains(ours, key) {
			value, found = node.Labels[key]
		}
		if _, set := binding.Spec.VirtualNode.Labels[key]; found && !set {
			wanted[key] = value
		}
	}
}

// commonLabels are those that all usable nodes have with the same value; nil if nothing
// is known, or no node is usable. A provider may say anything: one invalid label, and
// the consumer refuses the whole node.
func commonLabels(offer Offer) map[string]string {
	var common map[string]string
	for i := range offer.Nodes {
		node := &offer.Nodes[i]
		if offer.Unknown || !offer.TakesPods(node) {
			continue
		}
		if common == nil {
			common = map[string]string{}
			for _, key := range translate.NodeKeys {
				if value := node.Labels[key]; value != "" && len(validation.IsValidLabelValue(value)) == 0 {
					common[key] = value
				}
			}
		}
		maps.DeleteFunc(common, func(key, value string) bool { return node.Labels[key] != value })
	}
	return common
}
