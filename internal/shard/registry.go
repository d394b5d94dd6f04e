package shard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/multicluster-runtime/pkg/manager/coordinator/sharded/peers"
	"sigs.k8s.io/multicluster-runtime/pkg/manager/coordinator/sharded/sharder"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// config/shard has the rights in the manager's namespace, because most installations do not need them.

// Registry knows which replicas live. It is a peers.Registry of multicluster-runtime.
type Registry struct {
	leases   coordinationclient.LeaseInterface
	identity string
	duration time.Duration
	clock    clock.WithTicker

	// own is the last written Lease of this replica, or nil. Only Run uses it.
	own *coordinationv1.Lease

	mu    sync.Mutex
	peers *peerTable
	// announced is since when the others can know this replica, and until is how long it may rely on that.
	// read is when their Leases were last read. settled is set once a read was long enough after announced.
	announced, until, read time.Time
	settled                bool
}

var _ peers.Registry = &Registry{}

// RegistryOptions say who a replica is, and where the Leases are.
type RegistryOptions struct {
	// Leases is the client for the Leases in the manager's namespace.
	Leases coordinationclient.LeaseInterface
	// Identity is this replica's identity, also in the Leases of the providers.
	Identity string
	// Duration is how long a replica counts as alive without renewing its Lease, in whole seconds. Default:
	// DefaultDuration.
	Duration time.Duration
	// Clock defaults to the real one.
	Clock clock.WithTicker
}

// NewRegistry returns a Registry. It sends no request before Run.
func NewRegistry(o RegistryOptions) *Registry {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Registry{leases: o.Leases, identity: o.Identity, duration: cmp.Or(o.Duration, DefaultDuration), clock: o.Clock, peers: newPeerTable()}
}

// Self returns this replica. All replicas have the same weight.
func (r *Registry) Self() sharder.PeerInfo { return sharder.PeerInfo{ID: r.identity, Weight: 1} }

// Snapshot returns the living replicas, including this one. It is empty while this replica cannot be sure
// that the others know it, or does not know the others. It is also empty for one interval at the start, so
// that replicas that start together find each other.
func (r *Registry) Snapshot() []sharder.PeerInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if !r.settled || !now.Before(r.until) || !now.Before(r.read.Add(r.bound())) {
		return nil
	}
	snapshot := []sharder.PeerInfo{r.Self()}
	for _, identity := range r.peers.living(now, r.duration) {
		snapshot = append(snapshot, sharder.PeerInfo{ID: identity, Weight: 1})
	}
	return snapshot
}

// IsAlive reports whether another replica of that identity lives.
func (r *Registry) IsAlive(identity string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.peers.living(r.clock.Now(), r.duration), identity)
}

// Run renews the Lease of this replica and reads the others' until ctx ends. Then it deletes its own, so that
// the others need not wait. It retries after errors: a replica that cannot reach the consumer owns nothing
// meanwhile.
func (r *Registry) Run(ctx context.Context) error {
	ticker := r.clock.NewTicker(r.interval())
	defer ticker.Stop()
	for {
		if err := r.pass(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Info("the Leases of the replicas are tried again", "error", err.Error())
		}
		select {
		case <-ticker.C():
		case <-ctx.Done():
			r.leave(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func (r *Registry) interval() time.Duration { return r.duration / intervals }

// bound is how long this replica relies on its own write or read. The others wait longer.
func (r *Registry) bound() time.Duration { return r.duration * 4 / 5 }

// pass renews and reads once.
func (r *Registry) pass(ctx context.Context) error {
	renewed := r.renew(ctx)
	return errors.Join(renewed, r.refresh(ctx))
}

// renew writes the Lease of this replica. The others cannot have seen the new version before this call began.
func (r *Registry) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.interval())
	defer cancel()
	began := r.clock.Now()
	if err := r.write(ctx, began); err != nil {
		r.own = nil // It may have changed, or be gone.
		return fmt.Errorf("renewing the Lease %s of this replica: %w", r.name(), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !began.Before(r.until) {
		r.announced, r.settled = began, false
	}
	r.until = began.Add(r.bound())
	return nil
}

// write creates or updates the Lease.
func (r *Registry) write(ctx context.Context, now time.Time) error {
	var err error
	if r.own == nil {
		r.own, err = r.leases.Get(ctx, r.name(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			r.own, err = r.leases.Create(ctx, r.lease(nil, now), metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
	}
	r.own, err = r.leases.Update(ctx, r.lease(r.own, now), metav1.UpdateOptions{})
	return err
}

// refresh reads the Leases of all replicas, and deletes the Leases of dead ones.
func (r *Registry) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.interval())
	defer cancel()
	began := r.clock.Now()
	list, err := r.leases.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return fmt.Errorf("listing the Leases of the replicas: %w", err)
	}
	var errs []error
	for _, lease := range r.note(list.Items, began) {
		if err := r.delete(ctx, lease); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// note stores what was read, and returns the Leases of replicas that are long dead.
func (r *Registry) note(leases []coordinationv1.Lease, began time.Time) []*coordinationv1.Lease {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !began.Before(r.read.Add(r.bound())) {
		r.peers = newPeerTable() // The others may have been as unable to renew as this one to read.
	}
	r.peers.observe(leases, r.name(), r.clock.Now())
	r.read = began
	if began.Before(r.until) && began.Sub(r.announced) >= r.interval() {
		r.settled = true
	}
	return r.peers.dead(r.clock.Now(), forgotten*r.duration)
}

// leave deletes the Lease of this replica.
func (r *Registry) leave(ctx context.Context) {
	r.mu.Lock()
	r.until = time.Time{}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.interval())
	defer cancel()
	lease, err := r.leases.Get(ctx, r.name(), metav1.GetOptions{})
	if err == nil {
		err = r.delete(ctx, lease)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		log.FromContext(ctx).Info("the Lease of this replica is not deleted: the others wait until it has expired", "error", err.Error())
	}
}

// delete deletes a Lease, unless it has changed since it was read.
func (r *Registry) delete(ctx context.Context, lease *coordinationv1.Lease) error {
	err := r.leases.Delete(ctx, lease.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting the Lease %s: %w", lease.Name, err)
	}
	return nil
}

// selector selects the Leases of replicas.
const selector = v1alpha1.LabelReplica + "=true"

// hashInName is how many characters of the identity's hash a name has.
const hashInName = 16

// name returns the name of this replica's Lease. The identity itself may not be a valid name.
func (r *Registry) name() string {
	sum := sha256.Sum256([]byte(r.identity))
	return "spillway-replica-" + hex.EncodeToString(sum[:])[:hashInName]
}

// lease returns the Lease of this replica, based on there, which may be nil. The time is only for people: no
// decision uses it.
func (r *Registry) lease(there *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	at := ptr.To(metav1.NewMicroTime(now))
	lease := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{AcquireTime: at}}
	if there != nil {
		lease = there.DeepCopy()
	}
	lease.Name = r.name()
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	lease.Labels[v1alpha1.LabelReplica] = "true"
	lease.Spec.HolderIdentity = &r.identity
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(r.duration / time.Second)) //nolint:gosec // Some seconds.
	lease.Spec.RenewTime = at
	return lease
}
