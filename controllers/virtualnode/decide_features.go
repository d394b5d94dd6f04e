package virtualnode

import "slices"

// ofTheKubeletAPI are features of the kubelet API that a virtual node does not have.
var ofTheKubeletAPI = []string{"ExtendWebSocketsToKubelet"}

// declaredFeatures returns the features that all usable nodes declare, sorted, as on a Node. Kubernetes
// checks the node before a pod on it may use such a feature, for example a resize of the pod's own resources.
// The pod may be on any of the provider's nodes.
func declaredFeatures(offer Offer) []string {
	var common []string
	first := true
	for i := range offer.Nodes {
		if !offer.TakesPods(&offer.Nodes[i]) {
			continue
		}
		declared := offer.Nodes[i].Status.DeclaredFeatures
		if first {
			common, first = slices.Clone(declared), false
			continue
		}
		common = slices.DeleteFunc(common, func(name string) bool { return !slices.Contains(declared, name) })
	}
	common = slices.DeleteFunc(common, func(name string) bool { return slices.Contains(ofTheKubeletAPI, name) })
	slices.Sort(common)
	if common = slices.Compact(common); len(common) == 0 {
		return nil
	}
	return common
}
