package engine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// nodesOf returns a function that reports whether a node of the provider has a label; see decide.Inputs. It looks
// at all nodes, because pods need it only when they are sent, and few have other topology keys than
// kubernetes.io/hostname, for which nobody asks.
func nodesOf(provider *fleet.Provider) func(ctx context.Context, key string) (has, known bool) {
	return func(ctx context.Context, key string) (has, known bool) {
		var nodes corev1.NodeList
		if provider.Rights.WhyUnreadable(fleet.ResourceOf(&corev1.Node{})).Reason != "" ||
			provider.GetCache().List(ctx, &nodes, client.UnsafeDisableDeepCopy) != nil {
			return false, false
		}
		for i := range nodes.Items {
			labels := nodes.Items[i].Labels
			if labels[v1alpha1.LabelNodeType] == v1alpha1.NodeTypeVirtual {
				continue // Its pods run in yet another cluster.
			}
			if _, has := labels[key]; has {
				return true, true
			}
			known = true
		}
		return false, known
	}
}
