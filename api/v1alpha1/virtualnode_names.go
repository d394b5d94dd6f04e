package v1alpha1

import "strings"

// groupSeparator separates the clusterID and the group in the name of a virtual node. A clusterID has none, so no two
// ClusterBindings have nodes of one name.
const groupSeparator = "."

// GroupNodeName returns the name of the virtual node of a group of the provider's nodes.
func (b *ClusterBinding) GroupNodeName(group string) string {
	return b.VirtualNodeName() + groupSeparator + group
}

// ClusterIDOf returns the clusterID in the name of a virtual node, or "" for the name of another node. The label
// LabelCluster of the Node is what counts. This is for those who have only the name, such as readers of a claim that
// waits for a volume on a node.
func ClusterIDOf(node string) string {
	rest, virtual := strings.CutPrefix(node, VirtualNodePrefix)
	if !virtual {
		return ""
	}
	clusterID, _, _ := strings.Cut(rest, groupSeparator)
	return clusterID
}

// SameProvider reports whether a node is one of the virtual nodes of the provider whose virtual node without groups is
// called virtual.
func SameProvider(node, virtual string) bool {
	return node == virtual || strings.HasPrefix(node, virtual+groupSeparator)
}
