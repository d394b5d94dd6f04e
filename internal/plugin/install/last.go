package install

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/check"
)

// last says until when a manager worked for this cluster, if nothing in the cluster would start it again; "" if nobody knows.
func last(ctx context.Context, consumer client.Client) string {
	lease := &coordinationv1.Lease{}
	if consumer.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: check.LeaseName}, lease) != nil {
		return "" // Users need not see it.
	}
	return until(lease)
}

// until says when the Lease of the manager was last renewed. Who releases it renews it once more.
func until(lease *coordinationv1.Lease) string {
	if lease.Spec.RenewTime == nil {
		return ""
	}
	return "; the last manager held its Lease until " + lease.Spec.RenewTime.UTC().Format(time.RFC3339) + ", and what the bindings say is as old: if it ran outside of this cluster, start it again"
}
