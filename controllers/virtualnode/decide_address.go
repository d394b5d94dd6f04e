package virtualnode

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Endpoint is where an API server reaches the kubelet API of a node.
type Endpoint struct {
	// Address is an IP address or a name; empty: no manager serves the kubelet API.
	Address string
	Port    int32
}

// addresses returns the addresses of the node: exactly one, which every API server uses, whatever it prefers.
// Its type is Hostname even for an IP address. If a node has an InternalIP that they have not assigned, some
// distributions answer for the node themselves. Without a kubelet API, the address is the name of the node,
// which nobody can resolve.
func addresses(node *corev1.Node, kubelet Endpoint) []corev1.NodeAddress {
	return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: cmp.Or(kubelet.Address, node.Name)}}
}

func setAddress(node *corev1.Node, kubelet Endpoint) {
	node.Status.Addresses = addresses(node, kubelet)
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = kubelet.Port
}

// removeAddress removes the address of a kubelet API that stops from the node, and reports whether the node
// had it. Another manager may already have written its own address.
func removeAddress(node *corev1.Node, kubelet Endpoint) bool {
	if kubelet.Address == "" || node.Status.DaemonEndpoints.KubeletEndpoint.Port != kubelet.Port || !slices.Equal(node.Status.Addresses, addresses(node, kubelet)) {
		return false
	}
	setAddress(node, Endpoint{})
	return true
}
