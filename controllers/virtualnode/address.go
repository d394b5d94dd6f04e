package virtualnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/precondition"
)

const (
	// shutdownTimeout is how long a manager that ends may take for it.
	shutdownTimeout = 10 * time.Second
	// shutdownAttempts bounds the writes of one node that are refused because somebody else has written it.
	shutdownAttempts = 3
)

// address removes the address of this replica from the virtual nodes when the replica ends in good order.
// Otherwise the next owner of the IP address would get what users type into kubectl exec, until the next
// manager has written its own address. This happens before the manager gives up the lead, and with it
// everything else.
type address struct{ *Reconciler }

// Engage implements mcmanager.Runnable.
func (address) Engage(context.Context, multicluster.ClusterName, cluster.Cluster) error { return nil }

// Start waits for the end.
func (a address) Start(ctx context.Context) error {
	<-ctx.Done()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := a.remove(bounded); err != nil {
		log.FromContext(ctx).Error(err, "the address of this manager stays on virtual nodes until the next one writes its own")
	}
	return nil
}

func (a address) remove(ctx context.Context) error {
	var nodes corev1.NodeList
	if err := a.Client.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}); err != nil {
		return fmt.Errorf("listing Nodes: %w", err)
	}
	var failed []error
	for i := range nodes.Items {
		failed = append(failed, a.removeFrom(ctx, &nodes.Items[i]))
	}
	return errors.Join(failed...)
}

// removeFrom changes the node as it was seen: another manager may write its own address meanwhile.
func (a address) removeFrom(ctx context.Context, node *corev1.Node) error {
	for tries := 1; ; tries++ {
		before := node.DeepCopy()
		if !removeAddress(node, a.Kubelet) {
			return nil
		}
		err := a.Client.Status().Patch(ctx, node, precondition.Locked(before))
		if apierrors.IsConflict(err) && tries < shutdownAttempts {
			err = a.Live.Get(ctx, client.ObjectKeyFromObject(before), node)
			if err == nil {
				continue
			}
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing the address from Node %s: %w", before.Name, err)
		}
		return nil
	}
}
