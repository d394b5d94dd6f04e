package scenario

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/lease"
	"github.com/spillway-io/spillway/test/faults/world"
)

// docs/operations.md: for each consumer, one manager at a time writes in a provider. While another one holds
// the Lease there, this one writes nothing.
var secondManager = Scenario{
	Name: "second-manager", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web))),
	Steps: []Step{{
		Name: "the manager of a copy of the consumer takes the Lease in the provider",
		Do: change(world.P1, leaseIn(world.P1), func(_ *world.World, lease *coordinationv1.Lease) {
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To("copy"), ptr.To(int32(300))
		}),
		Until: all(connected(v1alpha1.ReasonHeldByAnother), noted(world.P1, remotely(team, web))),
	}, {
		Name: "a pod is created meanwhile",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, world.Pod(team, second, world.P1))
		},
		Until: all(connected(v1alpha1.ReasonHeldByAnother), gone[corev1.Pod](world.P1, remotely(team, second))),
	}, {
		Name: "the copy is stopped, and gives the Lease back",
		Do: change(world.P1, leaseIn(world.P1), func(_ *world.World, lease *coordinationv1.Lease) {
			lease.Spec.HolderIdentity = nil
		}),
		Until: all(bound(world.P1), offloaded(team, world.P1), noted(world.P1, remotely(team, web)),
			podIs(corev1.PodRunning, team, web, world.P1), podIs(corev1.PodRunning, team, second, world.P1)),
	}},
}

// leaseIn returns the key of the consumer's Lease in a provider.
func leaseIn(provider string) func(*world.World) client.ObjectKey {
	return func(w *world.World) client.ObjectKey {
		return client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: lease.Name(provenance.Mark{Origin: w.Origin, ClusterID: provider})}
	}
}
