package run

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// renewed returns an error if the virtual node of a connected provider has no Lease renewed since then. A
// manager renews it when the provider is connected and the caches are full.
func renewed(ctx context.Context, w *world.World, since time.Time) error {
	var bindings v1alpha1.ClusterBindingList
	if err := w.Consumer.Admin.List(ctx, &bindings); err != nil {
		return err
	}
	for i := range bindings.Items {
		if !meta.IsStatusConditionTrue(bindings.Items[i].Status.Conditions, v1alpha1.BindingConnected) {
			continue
		}
		var lease coordinationv1.Lease
		key := client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: v1alpha1.VirtualNodePrefix + bindings.Items[i].Spec.ClusterID}
		if err := w.Consumer.Admin.Get(ctx, key, &lease); err != nil {
			return err
		}
		if lease.Spec.RenewTime == nil || !lease.Spec.RenewTime.After(since) {
			return fmt.Errorf("the lease of %s has not been renewed", lease.Name)
		}
	}
	return nil
}
