package virtualnode

import "slices"

// ofTheKubeletAPI are features of what a node serves, and a virtual one does not.
var ofTheKubeletAPI = []string{"ExtendWebSocketsToKubelet"}

// declaredFeatures are those that all nodes that count declare, sorted, as a Node
// has them. Kubernetes asks a node for one before it lets a pod on it use the
// feature, such as a resize of the pod's own resources: any of the provider's
// nodes may have the pod.
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
