package field

import corev1 "k8s.io/api/core/v1"

// NodeKeys are labels that kubelets and clouds set on all nodes, including the provider's. A virtual
// node has those whose value all nodes of the provider share. Zone and region are not included. A
// virtual node with a zone of its own would count for spread constraints, and pods that are never
// offloaded would wait for a node there.
var NodeKeys = []string{corev1.LabelArchStable, corev1.LabelOSStable, corev1.LabelInstanceTypeStable}
