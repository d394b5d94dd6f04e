package virtualnode

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/consumer"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

const (
	// leaseDuration is the kubelet's default (nodeLeaseDurationSeconds).
	leaseDuration = 40 * time.Second
	// renewInterval is how often a Lease is renewed: as often as by the kubelet.
	renewInterval = leaseDuration / 4
	// moments is how many times in each renewInterval the Leases that are due are renewed: one wake-up does for
	// many. A renewal that failed is tried again at the next of these moments.
	moments = 5
	// renewTimeout limits the renewal of one Lease. It is long, because an overloaded API server answers late, and
	// forgets the place in its queue of a request that ends. atOnce is how many are renewed at the same time. It
	// is large, so that slow answers, or some that never come, do not delay the others.
	renewTimeout = leaseDuration / 2
	atOnce       = 64
	// mostSilent limits the time since the provider's last answer. After it, the Lease of its node is no
	// longer renewed.
	mostSilent = 15 * time.Second
)

// holder is the identity in the Leases.
const holder = "spillway"

// Leases renews the Lease of each virtual node, while its provider is engaged and has
// answered within mostSilent, so that one request to it may have failed. It stops when the
// provider is disengaged.
type Leases struct {
	Client client.Client
	// Live bypasses the caches, which hold no Leases.
	Live client.Reader
	// Fleet says when a provider last answered.
	Fleet interface {
		State(binding string) fleet.State
	}
	Clock clock.WithTicker

	mu      sync.Mutex
	engaged map[string]context.Context // By binding.
	kept    []*nodeLease
	waiting []*nodeLease // For a worker.
	workers int          // At most atOnce. Each ends when nothing waits.
}

// nodeLease is the Lease of one virtual node, during one engagement of its provider.
type nodeLease struct {
	ctx           context.Context // Ends with the engagement.
	binding, node string

	// left is the number of moments until the next renewal. busy is set while the Lease waits for a worker, or
	// has one. failed is set if it was not renewed the last time, and dropped if the node is to go. Leases.mu
	// guards them.
	left                  int
	busy, failed, dropped bool
	// last is the Lease as this process last wrote or read it. Only the worker that has it uses it.
	last *coordinationv1.Lease
}

// Start renews Leases until ctx ends.
func (l *Leases) Start(ctx context.Context) error {
	ticker := l.Clock.NewTicker(renewInterval / moments)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			l.moment() //nolint:contextcheck // Each Lease has the context of its engagement.
		}
	}
}

// Engage renews the Leases of a provider's nodes at once, and from then on until ctx ends. A provider whose nodes do
// not exist yet is likely to have one soon.
func (l *Leases) Engage(ctx context.Context, name multicluster.ClusterName, _ cluster.Cluster) error {
	binding := &v1alpha1.ClusterBinding{}
	if err := l.Client.Get(ctx, types.NamespacedName{Name: string(name)}, binding); err != nil {
		return fmt.Errorf("getting ClusterBinding %s: %w", name, err)
	}
	nodes, err := consumer.VirtualNodes(ctx, l.Client, binding)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(nodes))
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	if len(names) == 0 {
		names = append(names, binding.VirtualNodeName())
	}
	l.mu.Lock()
	if l.engaged == nil {
		l.engaged = map[string]context.Context{}
	}
	l.engaged[binding.Name] = ctx
	l.mu.Unlock()
	l.Follow(binding.Name, names) //nolint:contextcheck // Each Lease has the context of its engagement.
	return nil
}

// Follow renews the Leases of these nodes of a binding at once, and of no others, while its provider is engaged.
func (l *Leases) Follow(binding string, nodes []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx := l.engaged[binding]
	if ctx == nil || ctx.Err() != nil {
		delete(l.engaged, binding)
		return
	}
	followed := map[string]bool{}
	for _, n := range l.kept {
		if n.binding == binding && n.ctx == ctx {
			followed[n.node] = true
			n.dropped = !slices.Contains(nodes, n.node)
		}
	}
	for _, name := range nodes {
		if !followed[name] {
			kept := &nodeLease{ctx: ctx, binding: binding, node: name}
			l.kept = append(l.kept, kept)
			l.enqueue(kept)
		}
	}
}

// moment enqueues what is due, and forgets what has ended.
func (l *Leases) moment() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = slices.DeleteFunc(l.kept, func(n *nodeLease) bool { return n.ctx.Err() != nil || n.dropped && !n.busy })
	for _, n := range l.kept {
		if n.left--; n.left <= 0 && !n.busy && !n.dropped {
			l.enqueue(n)
		}
	}
}

// enqueue gives a Lease to a worker. The lock must be held.
func (l *Leases) enqueue(n *nodeLease) {
	n.busy, n.left = true, moments
	l.waiting = append(l.waiting, n)
	if l.workers < atOnce {
		l.workers++
		go l.work()
	}
}

// work renews what waits, one after the other, until nothing does.
func (l *Leases) work() {
	for n := l.next(); n != nil; n = l.next() {
		l.done(n, l.renew(n))
	}
}

// next returns the next Lease for a worker. After nil, the worker must end.
func (l *Leases) next() *nodeLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.waiting = nil // With its array.
		l.workers--
		return nil
	}
	n := l.waiting[0]
	l.waiting = l.waiting[1:]
	return n
}

// done notes how a renewal has ended.
func (l *Leases) done(n *nodeLease, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !n.failed && n.ctx.Err() == nil {
		log.FromContext(n.ctx).V(1).Info("the Lease of a virtual node is not renewed", "node", n.node, "error", err.Error())
	}
	n.busy, n.failed = false, err != nil
	if n.failed {
		n.left = 0
	}
}

// renew writes the Lease as last seen, and reads it only if that fails.
func (l *Leases) renew(n *nodeLease) error {
	owner, err := l.owner(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(n.ctx, renewTimeout)
	defer cancel()
	if n.last != nil {
		if err := l.update(ctx, n, owner); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	found := &coordinationv1.Lease{}
	err = l.Live.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: n.node}, found)
	switch {
	case apierrors.IsNotFound(err):
		return l.create(ctx, n, owner)
	case err != nil:
		return fmt.Errorf("reading the Lease of Node %s: %w", n.node, err)
	}
	n.last = found
	return l.update(ctx, n, owner)
}

// owner returns the reference to the virtual node, or why its Lease is not renewed now.
func (l *Leases) owner(n *nodeLease) (metav1.OwnerReference, error) {
	if age := l.Clock.Since(l.Fleet.State(n.binding).LastContact); age > mostSilent {
		return metav1.OwnerReference{}, fmt.Errorf("the provider has not answered for %s", age.Round(time.Second))
	}
	node := &corev1.Node{}
	if err := l.Client.Get(n.ctx, types.NamespacedName{Name: n.node}, node); err != nil {
		return metav1.OwnerReference{}, fmt.Errorf("getting Node %s: %w", n.node, err)
	}
	if node.Labels[v1alpha1.LabelNodeType] != v1alpha1.NodeTypeVirtual {
		return metav1.OwnerReference{}, fmt.Errorf("node %s is not a virtual node", n.node)
	}
	// As the kubelet does: the Lease goes with its node.
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, BlockOwnerDeletion: ptr.To(false)}, nil
}

func (l *Leases) create(ctx context.Context, n *nodeLease, owner metav1.OwnerReference) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: n.node}}
	l.hold(lease, owner)
	if err := l.Client.Create(ctx, lease); err != nil {
		return fmt.Errorf("creating the Lease of Node %s: %w", n.node, err)
	}
	n.last = lease
	return nil
}

// update renews the Lease, unless it has changed since it was last seen. An update needs no further right and
// costs the API server less than a patch.
func (l *Leases) update(ctx context.Context, n *nodeLease, owner metav1.OwnerReference) error {
	lease := n.last.DeepCopy()
	lease.ManagedFields = nil // The API server keeps its own.
	l.hold(lease, owner)
	if err := l.Client.Update(ctx, lease); err != nil {
		return fmt.Errorf("renewing the Lease of Node %s: %w", n.node, err)
	}
	n.last = lease
	return nil
}

// hold sets what the holder of a Lease says. The time of renewal only grows, also if the clock was set back, or a
// predecessor's clock was ahead: Kubernetes ignores any other (tryUpdateNodeHealth in k8s.io/kubernetes,
// pkg/controller/nodelifecycle).
func (l *Leases) hold(lease *coordinationv1.Lease, owner metav1.OwnerReference) {
	lease.OwnerReferences = []metav1.OwnerReference{owner}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(holder), ptr.To(int32(leaseDuration/time.Second))
	now := l.Clock.Now()
	if last := lease.Spec.RenewTime; last != nil && !now.After(last.Time) {
		now = last.Add(time.Microsecond)
	}
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
}
