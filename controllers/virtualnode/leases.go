package virtualnode

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

const (
	// leaseDuration is the kubelet's default (nodeLeaseDurationSeconds).
	leaseDuration = 40 * time.Second
	// renewInterval is how often a lease is renewed: as often as by the kubelet.
	renewInterval = leaseDuration / 4
	// mostSilent limits the time since the provider's last answer. After it, the lease of its node is no
	// longer renewed.
	mostSilent = 15 * time.Second
)

// holder is the identity in the leases.
const holder = "spillway"

// Leases renews the lease of each virtual node, while its provider is engaged and has
// answered within mostSilent, so that one request to it may have failed. It stops when the
// provider is disengaged.
type Leases struct {
	Client     client.Client
	Kubernetes kubernetes.Interface
	Fleet      *fleet.Fleet
	Clock      clock.Clock
}

// Start has nothing to do: each provider's lease lives as long as its engagement.
func (*Leases) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage renews the lease of a provider until ctx ends.
func (l *Leases) Engage(ctx context.Context, name multicluster.ClusterName, _ cluster.Cluster) error {
	binding := &v1alpha1.ClusterBinding{}
	if err := l.Client.Get(ctx, types.NamespacedName{Name: string(name)}, binding); err != nil {
		return fmt.Errorf("getting ClusterBinding %s: %w", name, err)
	}
	node := binding.VirtualNodeName()
	controller := lease.NewController(l.Clock, l.Kubernetes, holder, int32(leaseDuration/time.Second), nil,
		renewInterval, node, corev1.NamespaceNodeLease, l.prepare(ctx, binding.Name, node))
	go controller.Run(ctx)
	return nil
}

// prepare is called before each renewal. Its error prevents the renewal.
func (l *Leases) prepare(ctx context.Context, name, nodeName string) lease.ProcessLeaseFunc {
	return func(lease *coordinationv1.Lease) error {
		if age := l.Clock.Since(l.Fleet.State(name).LastContact); age > mostSilent {
			return fmt.Errorf("the provider has not answered for %s", age.Round(time.Second))
		}
		node := &corev1.Node{}
		if err := l.Client.Get(ctx, types.NamespacedName{Name: nodeName}, node); err != nil {
			return fmt.Errorf("getting Node %s: %w", nodeName, err)
		}
		if node.Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual {
			return fmt.Errorf("node %s is not a virtual node", nodeName)
		}
		// As the kubelet does: the lease goes with its node.
		lease.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, BlockOwnerDeletion: ptr.To(false),
		}}
		return nil
	}
}
