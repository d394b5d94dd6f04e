package virtualnode

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Endpoint is where an API server finds the kubelet API of a node.
type Endpoint struct {
	// Address is an IP address or a name; empty: nobody serves it.
	Address string
	Port    int32
}

// addresses are those of the node: exactly one, which every API server takes, whatever it
// prefers. It is of the type Hostname even if it is an IP address: with an InternalIP that
// they have not given it, some distributions answer for the node themselves. Without a
// kubelet API it is the name of the node, which nobody can resolve.
func addresses(node *corev1.Node, kubelet Endpoint) []corev1.NodeAddress {
	return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: cmp.Or(kubelet.Address, node.Name)}}
}

func setAddress(node *corev1.Node, kubelet Endpoint) {
	node.Status.Addresses = addresses(node, kubelet)
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = kubelet.Port
}

// RemoveAddress removes the address of a kubelet API that ends from the node, and reports whether
// the node has shown it. Another manager may have written its own already.
func RemoveAddress(node *corev1.Node, kubelet Endpoint) bool {
	if kubelet.Address == "" || node.Status.DaemonEndpoints.KubeletEndpoint.Port != kubelet.Port || !slices.Equal(node.Status.Addresses, addresses(node, kubelet)) {
		return false
	}
	setAddress(node, Endpoint{})
	return true
}
