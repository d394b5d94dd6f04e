package consumer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// VirtualNodes returns the virtual nodes of a ClusterBinding from a cache, sorted by name. Their label says of which
// provider they are, and their owner of which binding. They are shared, and callers must not change them.
func VirtualNodes(ctx context.Context, cache client.Reader, binding *v1alpha1.ClusterBinding) ([]*corev1.Node, error) {
	var all corev1.NodeList
	if err := cache.List(ctx, &all, client.MatchingLabels{v1alpha1.LabelCluster: binding.Spec.ClusterID}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the virtual nodes of ClusterBinding %s: %w", binding.Name, err)
	}
	var nodes []*corev1.Node
	for i := range all.Items {
		if metav1.IsControlledBy(&all.Items[i], binding) {
			nodes = append(nodes, &all.Items[i])
		}
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes, nil
}

// Groups returns the groups of the virtual nodes of a ClusterBinding, by the name of the node. The status of the binding
// has that of a node that somebody has deleted. The group of a node with an annotation that nobody can read is nil: its
// pods are known, and none is sent.
func Groups(ctx context.Context, cache client.Reader, name string) (map[string]field.Group, error) {
	binding := &v1alpha1.ClusterBinding{}
	if bound, err := Exists(ctx, cache, client.ObjectKey{Name: name}, binding); err != nil || !bound {
		return nil, err
	}
	nodes, err := VirtualNodes(ctx, cache, binding)
	if err != nil {
		return nil, err
	}
	var groups map[string]field.Group
	add := func(node string, group field.Group) {
		if groups == nil {
			groups = map[string]field.Group{}
		}
		groups[node] = group
	}
	for _, recorded := range binding.Status.VirtualNodes {
		if recorded.Name != binding.VirtualNodeName() {
			group, _ := field.ParseGroup(recorded.Group)
			add(recorded.Name, group)
		}
	}
	for _, node := range nodes {
		text, grouped := node.Annotations[v1alpha1.AnnotationGroup]
		if group, ok := field.ParseGroup(text); ok && grouped {
			add(node.Name, group)
		} else if node.Name != binding.VirtualNodeName() {
			add(node.Name, nil)
		}
	}
	return groups, nil
}
