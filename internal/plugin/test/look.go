package test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// address returns where the consumer's API server expects the kubelet API of a virtual node.
func address(ctx context.Context, consumer client.Client, name string) string {
	node := &corev1.Node{}
	if err := consumer.Get(ctx, client.ObjectKey{Name: name}, node); err != nil || len(node.Status.Addresses) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", node.Status.Addresses[0].Address, node.Status.DaemonEndpoints.KubeletEndpoint.Port)
}

// warnings returns the warning events about an object, for the diagnosis.
func warnings(ctx context.Context, consumer client.Client, object client.Object) []string {
	list := &corev1.EventList{}
	if err := consumer.List(ctx, list, client.InNamespace(object.GetNamespace())); err != nil {
		return nil
	}
	var all []string
	for i := range list.Items {
		if e := &list.Items[i]; e.InvolvedObject.Name == object.GetName() && e.Type == corev1.EventTypeWarning {
			all = append(all, e.Reason+": "+e.Message)
		}
	}
	return all
}
