package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// nodesOf returns a function that reports which nodes of the provider have a label; see decide.Inputs. It looks at all
// nodes, because pods need it only when they are sent, and few have other topology keys than kubernetes.io/hostname,
// for which nobody asks.
func nodesOf(provider *fleet.Provider) func(ctx context.Context, key string) (some, all, known bool) {
	return func(ctx context.Context, key string) (some, all, known bool) {
		var nodes corev1.NodeList
		if provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Node{})).Reason != "" ||
			provider.GetCache().List(ctx, &nodes, client.UnsafeDisableDeepCopy) != nil {
			return false, false, false
		}
		return haveLabel(nodes.Items, key)
	}
}

// haveLabel leaves out virtual nodes: their pods run in yet another cluster.
func haveLabel(nodes []corev1.Node, key string) (some, all, known bool) {
	all = true
	for i := range nodes {
		node := &nodes[i]
		if node.Labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
			continue
		}
		_, has := node.Labels[key]
		some, known = some || has, true
		all = all && (has || !takesPods(node))
	}
	return some, all && some, known
}

// takesPods reports whether most pods may run on a node.
func takesPods(node *corev1.Node) bool {
	return node.DeletionTimestamp.IsZero() && !node.Spec.Unschedulable && len(node.Spec.Taints) == 0 && field.IsNodeReady(node)
}
