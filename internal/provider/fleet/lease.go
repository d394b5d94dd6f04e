package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/lease"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

const (
	// unfencedRetry is how often to ask for a Lease that the provider denies.
	unfencedRetry = time.Minute
	// patience is how many Lease durations after the fence has closed a session goes on, if the provider has too much to do
	// to store the Lease.
	patience = 4
	// sharedLook is how often to read a Lease that another replica holds, if replicas share the bindings: it may
	// release the Lease at any moment.
	sharedLook = time.Second
)

// leaseManager acquires, renews and releases the Lease in a provider, during one session.
type leaseManager struct {
	*link
	provider *Provider
	live     client.Reader
	probe    func(context.Context) error // Fails if the provider does not answer, or is another cluster.
	// waiting is set until the manager has the Lease, or was denied it. After that, it waits for nobody.
	waiting bool
	// asked is since when the ClusterBinding has been asked to remember a generation. Zero means that it has
	// not been asked.
	asked time.Time
	// look is after how long to read the Lease again, while waiting.
	look time.Duration
}

// acquire returns when the manager may write in the provider: because it holds the Lease, or because the
// provider denies it one. When leaving, it returns once the Lease is gone.
func (l *leaseManager) acquire(ctx context.Context) error {
	timer := l.options.Clock.NewTimer(l.options.LeaseDuration)
	defer timer.Stop()
	l.waiting = true
	defer func() { l.waiting = false }()
	for {
		began := l.options.Clock.Now()
		settled, err := l.check(ctx)
		if err != nil {
			return l.unrenewed(ctx, err)
		}
		if settled {
			return nil
		}
		rest := l.look - l.options.Clock.Since(began)
		if rest <= 0 {
			continue
		}
		timer.Reset(rest)
		select {
		case <-l.leaseState.news:
		case <-timer.C():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// keep renews the Lease once. done is false if it is not renewed. The error may be an errNotUsable, if another
// holder has the Lease, or if it was not renewed in time although the provider answers: then the session must end.
// Other errors are left to the probes, and not returned: the next try may succeed.
func (l *leaseManager) keep(ctx context.Context) (done bool, _ error) {
	done, err := l.renew(ctx)
	if err != nil && l.fence.expired() {
		err = l.unrenewed(ctx, err)
	}
	if isRefused(err) {
		l.fence.drop()
		return false, err
	}
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).V(1).Info("the Lease in the provider is not renewed", "error", err.Error())
	}
	return done && err == nil, nil
}

// unrenewed handles an error with the Lease. If the provider answers a probe, only the Lease fails, mostly
// because of an admission webhook, and unrenewed returns an error that says so: the manager may write nothing
// there without the Lease. Otherwise it returns err.
//
// A provider that has too much to do gets some time after the fence has closed. Meanwhile the manager writes nothing
// there, and keeps its caches: to fill new ones would cost the provider more than anything else.
func (l *leaseManager) unrenewed(ctx context.Context, err error) error {
	if left, _ := l.fence.remaining(); isLate(err) && !l.waiting && left >= -patience*l.options.LeaseDuration {
		busy := connection.Fence{Reason: v1alpha1.ReasonLeaseNotRenewed, Message: "the provider has too much to do, or an admission webhook for Leases there does not answer in time. Until the Lease is renewed, the manager writes nothing there: " + quoted(err)}
		l.report.update(ctx, func(s *State) { s.Fence = busy })
		return err
	}
	if isRefused(err) || l.target.Leaving || ctx.Err() != nil || l.probe(ctx) != nil {
		return err
	}
	return errNotUsable{v1alpha1.ReasonLeaseNotRenewed, "the provider answers, but its Lease cannot be read or written, so the manager writes nothing there: " + quoted(err)}
}

// renew writes the Lease as last seen, and reads it only if that fails. done is false if it has to wait.
func (l *leaseManager) renew(ctx context.Context) (done bool, err error) {
	if l.holds() {
		s := l.snapshot()
		if d := lease.Decide(s); d.Action == lease.Write {
			l.remember(ctx, d.Record)
			if done, err := l.write(ctx, s, d); done || err != nil {
				return done, err
			}
		}
		// It has changed or is gone, perhaps because this is another cluster.
		if err := l.probe(ctx); err != nil {
			return false, err
		}
	}
	return l.check(ctx)
}

// check reads the Lease and acts on it. settled is true once the manager holds the Lease or can have none. When
// leaving, settled is true once the Lease is gone.
func (l *leaseManager) check(ctx context.Context) (settled bool, err error) {
	found, err := l.read(ctx)
	switch {
	case err != nil && l.target.Leaving:
		return false, err // The Lease may exist.
	case err != nil:
		return l.continueUnfenced(ctx, err, true)
	}
	if wentBack := l.leaseState.observe(found); wentBack && !l.target.Leaving {
		why := "the provider was restored from a backup: its resource versions went back, so the manager reads everything again"
		if found == nil {
			why = "the Lease in the provider is gone: the provider was restored from a backup, or somebody has deleted the Lease. The manager reads everything again"
		}
		return false, errNotUsable{v1alpha1.ReasonStartFailed, why}
	}
	s := l.snapshot()
	d := lease.Decide(s)
	// What another manager has sent since this one did not renew the Lease in time may be missing in the caches.
	if !l.waiting && l.fence.overdue() && takes(d, s) {
		return false, errNotUsable{v1alpha1.ReasonStartFailed, "the Lease in the provider was not renewed in time, and another manager has had it since: the manager reads everything again"}
	}
	l.leaseState.setDenial(nil)
	l.look = l.lookAfter(d.Action, s.Sharing)
	switch d.Action {
	case lease.Refuse:
		refused := errNotUsable{d.Reason, d.Message}
		l.leaseState.setDenial(refused)
		return false, refused
	case lease.Record:
		l.remember(ctx, d.Record)
		return false, l.unrecorded()
	case lease.Write:
		l.remember(ctx, d.Record)
		return l.write(ctx, s, d)
	case lease.Delete:
		return l.delete(ctx, s.Lease)
	default:
		return false, nil
	}
}

// takes reports whether the manager is to take a Lease that it does not hold.
func takes(d lease.Decision, s lease.Snapshot) bool {
	held := s.Lease != nil && ptr.Deref(s.Lease.Spec.HolderIdentity, "") == s.Identity
	return !held && (d.Action == lease.Record || d.Action == lease.Write)
}

// lookAfter returns when to read the Lease again after a decision. The ClusterBinding wakes this manager when it has
// recorded a generation, so nothing is read while the manager waits for that.
func (l *leaseManager) lookAfter(action lease.Action, sharing bool) time.Duration {
	switch often := l.options.LeaseDuration / 3; {
	case action == lease.Record:
		return l.options.LeaseDuration
	case sharing:
		return min(sharedLook, often)
	default:
		return often
	}
}

// holds reports whether the manager holds the Lease, as far as it knows.
func (l *leaseManager) holds() bool { return l.fence.held() && l.leaseState.lastSeen() != nil }

// snapshot returns the input of the decision.
func (l *leaseManager) snapshot() lease.Snapshot {
	s := l.leaseState.snapshot()
	s.Mark, s.Account, s.Identity = l.mark(), l.provider.Account, l.options.Identity
	s.Binding, s.Leaving = l.target.Name, l.target.Leaving
	s.Sharing = l.waiting && s.Lease != nil && l.options.Shares != nil && l.options.Shares(ptr.Deref(s.Lease.Spec.HolderIdentity, ""))
	return s
}

// remember reports a generation, which the status of the ClusterBinding then records.
func (l *leaseManager) remember(ctx context.Context, generation int64) {
	l.report.update(ctx, func(s *State) {
		s.Holder = v1alpha1.HolderStatus{Generation: generation, Identity: l.options.Identity}
	})
}

// unrecorded returns an error once the ClusterBinding has been asked to record a generation for a long time,
// and has not done so.
func (l *leaseManager) unrecorded() error {
	now := l.options.Clock.Now()
	if l.asked.IsZero() {
		l.asked = now
	}
	if now.Sub(l.asked) < refusedDurations*l.options.LeaseDuration {
		return nil
	}
	return errNotUsable{v1alpha1.ReasonHolderNotRecorded, "status.holder of this ClusterBinding was not stored, and until it is, the manager writes nothing in the provider: " +
		"see the conditions VersionSkew and WritesRefused"}
}

func (l *leaseManager) read(ctx context.Context) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.ProbeTimeout)
	defer cancel()
	found := &coordinationv1.Lease{}
	err := l.live.Get(ctx, client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: lease.Name(l.mark())}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // No Lease is not an error.
	case err != nil:
		return nil, fmt.Errorf("reading the Lease in provider %s: %w", l.target.ClusterID, err)
	}
	return found, nil
}

// write creates, takes or renews the Lease, unless it has changed since it was last seen.
func (l *leaseManager) write(ctx context.Context, s lease.Snapshot, d lease.Decision) (done bool, err error) {
	began := l.options.Clock.Now()
	var authority string
	bounded, cancel := context.WithTimeout(transport.WithAuthority(transport.WithoutFence(ctx), func(of string) { authority = of }), l.options.LeaseDuration/3)
	defer cancel()
	written := lease.Written(s, d, began)
	if s.Lease == nil {
		err = l.provider.GetClient().Create(bounded, written)
	} else {
		err = l.provider.GetClient().Patch(bounded, written, renewal(written))
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && s.Lease != nil:
		l.leaseState.wake()
		return false, nil
	case err != nil:
		return l.continueUnfenced(ctx, fmt.Errorf("writing the Lease in provider %s: %w", l.target.ClusterID, err), false)
	}
	l.leaseState.noteWritten(written, s.Lease == nil || s.Lease.Annotations[v1alpha1.AnnotationGeneration] != written.Annotations[v1alpha1.AnnotationGeneration])
	l.fence.extend(began)
	l.asked = time.Time{}
	// Only the cluster that has this Lease, in this version, can have changed it.
	same := s.Lease == nil || s.Lease.UID == written.UID
	l.report.update(ctx, func(s *State) {
		s.Fence = connection.Fence{Reason: v1alpha1.ReasonLeaseHeld}
		if same {
			s.Authority, s.LastContact = authority, l.options.Clock.Now()
		}
	})
	return true, nil
}

// renewal changes the Lease to what lease.Written returned, unless it has changed since. Comparing the two
// would cost as much as the request.
func renewal(written *coordinationv1.Lease) client.Patch {
	changed := metav1.ObjectMeta{ResourceVersion: written.ResourceVersion, Annotations: map[string]string{
		v1alpha1.AnnotationGeneration: written.Annotations[v1alpha1.AnnotationGeneration],
	}}
	raw, _ := json.Marshal(&coordinationv1.Lease{ObjectMeta: changed, Spec: written.Spec}) // All its fields can be marshalled.
	return client.RawPatch(types.MergePatchType, raw)
}

// continueUnfenced continues without a Lease if the provider denies one. unread is set if the provider does not
// even let the manager read it.
func (l *leaseManager) continueUnfenced(ctx context.Context, err error, unread bool) (settled bool, _ error) {
	fence := connection.Fence{}
	switch {
	case apierrors.IsForbidden(err):
		fence.Reason = v1alpha1.ReasonLeaseForbidden
		_, fence.Message = transport.Classify(err)
	case apierrors.IsNotFound(err):
		fence.Reason = v1alpha1.ReasonLeaseUnavailable
		fence.Message = "the provider has no namespace " + v1alpha1.ProviderNamespace
	default:
		return false, err
	}
	if verdict := l.leaseState.currentDenial(); verdict != nil {
		return false, verdict
	}
	if l.options.Shares != nil {
		return false, errNotUsable{fence.Reason, fence.Message + "; replicas that share the bindings need the Lease: only it keeps two of them from writing there"}
	}
	if l.leaseState.inGracePeriod(unread) {
		return false, errNotUsable{fence.Reason, fence.Message + "; a Lease existed before: the manager continues without it in a minute"}
	}
	l.fence.lift()
	l.report.update(ctx, func(s *State) { s.Fence = fence })
	return true, nil
}

// delete deletes the Lease, if any, unless it has changed since it was last seen.
func (l *leaseManager) delete(ctx context.Context, lease *coordinationv1.Lease) (done bool, err error) {
	if lease == nil {
		return true, nil
	}
	bounded, cancel := context.WithTimeout(transport.WithoutFence(ctx), l.options.ProbeTimeout)
	defer cancel()
	err = l.provider.GetClient().Delete(bounded, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		l.leaseState.wake()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("deleting the Lease in provider %s: %w", l.target.ClusterID, err)
	}
	return true, nil
}

// release releases the Lease, so that the next manager need not wait, unless the consumer was restored from a
// backup. The manager writes nothing in the provider after that.
func (l *leaseManager) release(ctx context.Context) {
	held := l.fence.drop()
	last := l.leaseState.lastSeen()
	if !held || last == nil {
		return
	}
	ctx, cancel := context.WithTimeout(transport.WithoutFence(ctx), l.options.ProbeTimeout)
	defer cancel()
	released := lease.Released(last)
	switch {
	case l.options.Restored != nil && l.options.Restored():
		released = lease.Abandoned(last)
	case !l.fence.settled(ctx):
		log.FromContext(ctx).Info("a write in the provider was not answered: its Lease is left to expire, and the next manager waits until then")
		return
	}
	if err := l.provider.GetClient().Patch(ctx, released, client.MergeFromWithOptions(last, client.MergeFromWithOptimisticLock{})); err != nil {
		log.FromContext(ctx).Info("the Lease in the provider is not given back: the next manager waits until it has expired", "error", err.Error())
	}
}
