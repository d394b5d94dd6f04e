package inventory

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/leavingpods"
)

// StatusCounter counts by the status of NamespaceMaps, for a replica that does not watch the virtual nodes of all
// bindings. It is as late as those statuses. If that allows a deletion too early, the replica that works for
// the binding still waits, because it counts the pods itself before it deletes anything.
type StatusCounter struct {
	// Reader is a cache of ClusterBindings, NamespaceMaps and NamespaceOffloadings.
	Reader client.Reader
}

var _ Counter = StatusCounter{}

// Remaining implements Counter. If nobody counts the pods, they need no counting.
func (r StatusCounter) Remaining(ctx context.Context, binding, namespace string) (eviction.Remaining, error) {
	cb, nsm, nso := &v1alpha1.ClusterBinding{}, &v1alpha1.NamespaceMap{}, &v1alpha1.NamespaceOffloading{}
	bound, err1 := consumer.Exists(ctx, r.Reader, client.ObjectKey{Name: binding}, cb)
	mapped, err2 := consumer.Exists(ctx, r.Reader, client.ObjectKey{Name: binding}, nsm)
	offloaded, err3 := consumer.Exists(ctx, r.Reader, client.ObjectKey{Namespace: namespace, Name: v1alpha1.OffloadingName}, nso)
	if err := errors.Join(err1, err2, err3); err != nil {
		return eviction.Remaining{}, fmt.Errorf("reading what is left of namespace %s for ClusterBinding %s: %w", namespace, binding, err)
	}
	if !bound || !mapped || !offloaded || !leavingpods.Reports(nso, cb, leavingpods.Mapped(nsm)) {
		return eviction.Remaining{}, nil
	}
	left, said := leavingpods.Of(nsm, namespace)
	if !said {
		return eviction.Remaining{}, ErrUnknown
	}
	return left, nil
}
