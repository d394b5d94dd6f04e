package scenario

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// bound wants providers to be usable. The bindings are Ready and know the right cluster, and there are maps,
// and nodes with capacity. It does not wait for the nodes' Leases: the first try may come before the node is
// in the manager's cache, and the next one comes five seconds later.
func bound(providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		for _, id := range providers {
			if err := isBound(ctx, w, id); err != nil {
				return err
			}
		}
		return nil
	}
}

func isBound(ctx context.Context, w *world.World, id string) error {
	binding, err := get[v1alpha1.ClusterBinding](ctx, w, world.Consumer, "", id)
	if err != nil {
		return err
	}
	provider, err := get[corev1.Namespace](ctx, w, id, "", metav1.NamespaceSystem)
	if err != nil {
		return err
	}
	err = wrap("ClusterBinding "+id,
		condition(binding.Status.Conditions, v1alpha1.BindingReady, metav1.ConditionTrue, v1alpha1.ReasonReady),
		condition(binding.Status.Conditions, v1alpha1.BindingConnected, metav1.ConditionTrue, v1alpha1.ReasonConnected),
		same("the observed generation", binding.Status.ObservedGeneration, binding.Generation),
		same("the identity of the provider", binding.Status.RemoteClusterUID, string(provider.UID)))
	if err != nil {
		return err
	}
	node, err := get[corev1.Node](ctx, w, world.Consumer, "", binding.VirtualNodeName())
	if err != nil {
		return err
	}
	if _, err := get[v1alpha1.NamespaceMap](ctx, w, world.Consumer, "", id); err != nil {
		return err
	}
	return wrap("Node "+node.Name,
		same("its owner", metav1.IsControlledBy(node, binding), true),
		same("that it is unschedulable", node.Spec.Unschedulable, false),
		same("its CPU", node.Status.Allocatable.Cpu().String(), "8"),
		same("that it is Ready", isReady(node.Status.Conditions), true))
}

func isReady(conditions []corev1.NodeCondition) bool {
	for i := range conditions {
		if conditions[i].Type == corev1.NodeReady {
			return conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// unbound wants nothing of a binding to be left, in either cluster.
func unbound(id string) Func {
	node := v1alpha1.VirtualNodePrefix + id
	return all(
		gone[v1alpha1.ClusterBinding](world.Consumer, named("", id)),
		gone[v1alpha1.NamespaceMap](world.Consumer, named("", id)),
		gone[corev1.Node](world.Consumer, named("", node)),
		gone[coordinationv1.Lease](world.Consumer, named(corev1.NamespaceNodeLease, node)),
		nothingMarked(id),
	)
}

// nothingMarked wants a provider to have no object with the consumer's mark, whichever binding created it.
func nothingMarked(id string) Func {
	return func(ctx context.Context, w *world.World) error {
		ours := client.MatchingLabels{v1alpha1.LabelOrigin: w.Origin}
		for _, list := range []client.ObjectList{
			&corev1.NamespaceList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceList{},
			&corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{},
		} {
			found, err := names(ctx, w.Cluster(id).Admin, list, ours)
			if err != nil {
				return err
			}
			if len(found) > 0 {
				return fmt.Errorf("%s: %T of ours: %v", id, list, found)
			}
		}
		return nil
	}
}
