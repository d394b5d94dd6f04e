package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/controller-runtime/pkg/client"

	decidenodes "github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// nodesOf returns a function that reports which nodes of the provider have a label; see decide.Inputs. It looks at all
// nodes, because pods need it only when they are sent, and few have other topology keys than kubernetes.io/hostname,
// for which nobody asks.
func nodesOf(provider *fleet.Provider) func(ctx context.Context, remote *corev1.Pod, key string) (some, all, known bool) {
	return func(ctx context.Context, remote *corev1.Pod, key string) (some, all, known bool) {
		var nodes corev1.NodeList
		if provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Node{})).Reason != "" ||
			provider.GetCache().List(ctx, &nodes, client.UnsafeDisableDeepCopy) != nil {
			return false, false, false
		}
		return haveLabel(nodes.Items, remote, key)
	}
}

// haveLabel looks at the nodes that a remote pod selects, which are those of its group. If there are none now, it looks at
// all: a new one is probably like them.
func haveLabel(nodes []corev1.Node, remote *corev1.Pod, key string) (some, all, known bool) {
	required := nodeaffinity.GetRequiredNodeAffinity(remote)
	some, all, known = haveLabelAmong(nodes, remote, key, func(node *corev1.Node) bool {
		selected, err := required.Match(node)
		return selected && err == nil
	})
	if !known {
		return haveLabelAmong(nodes, remote, key, func(*corev1.Node) bool { return true })
	}
	return some, all, known
}

// haveLabelAmong leaves out virtual nodes: their pods run in yet another cluster.
func haveLabelAmong(nodes []corev1.Node, remote *corev1.Pod, key string, selected func(*corev1.Node) bool) (some, all, known bool) {
	all = true
	tolerated := decidenodes.Named(remote.Spec.Tolerations)
	for i := range nodes {
		node := &nodes[i]
		if decidenodes.IsVirtual(node) || !selected(node) {
			continue
		}
		_, has := node.Labels[key]
		some, known = some || has, true
		all = all && (has || !decidenodes.Takes(node, tolerated))
	}
	return some, all && some, known
}
