// Package placement decides, without any I/O, which ClusterBindings a NamespaceOffloading selects.
//
// It matches the selector against the labels that the ClusterBinding gives its virtual node, not against the
// present labels of the Node. A Node that is missing for a while, or was edited by hand, must not move
// namespaces and delete their content.
package placement

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// NodeLabels returns the labels of the binding's virtual node.
func NodeLabels(binding *v1alpha1.ClusterBinding) map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:   binding.VirtualNodeName(),
		corev1.LabelOSStable:   "linux",
		v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual,
		v1alpha1.LabelCluster:  binding.Spec.ClusterID,
		// Load balancers must not send traffic to a node that has no address.
		corev1.LabelNodeExcludeBalancers: "true",
	}
	for key, value := range binding.Spec.VirtualNode.Labels {
		labels[key] = string(value)
	}
	return labels
}

// Selects reports whether the selector selects the binding. It returns an error if the selector is invalid.
func Selects(selector *v1alpha1.ClusterSelector, binding *v1alpha1.ClusterBinding) (bool, error) {
	terms := selector.NodeSelector()
	if terms == nil {
		return true, nil
	}
	selects, err := Matches(terms, binding)
	if err != nil {
		return false, fmt.Errorf("clusterSelector is invalid: %w", err)
	}
	return selects, nil
}

// Matches reports whether terms match the labels that the binding gives its virtual node. It returns an error
// if the terms are invalid.
func Matches(terms *corev1.NodeSelector, binding *v1alpha1.ClusterBinding) (bool, error) {
	matcher, err := nodeaffinity.NewNodeSelector(terms)
	if err != nil {
		return false, err
	}
	return matcher.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:   binding.VirtualNodeName(),
		Labels: NodeLabels(binding),
	}}), nil
}

// Older compares two bindings by creation time or, if they were created in the same second, by name.
func Older(a, b *v1alpha1.ClusterBinding) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
