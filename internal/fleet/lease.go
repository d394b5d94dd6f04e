package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/holder"
	"github.com/spillway-io/spillway/internal/provenance"
)

// unfencedRetry is how often to ask for a Lease that the provider denies us.
const unfencedRetry = time.Minute

// acquire returns when we may write in the provider: because we hold its Lease, or
// because it denies us one. When leaving, it returns once the Lease is gone.
func (c *keeper) acquire(ctx context.Context, r *remote) error {
	ticker := c.fleet.options.Clock.NewTicker(c.lookInterval())
	defer ticker.Stop()
	c.hold.wait(true)
	defer c.hold.wait(false)
	for {
		settled, err := c.look(ctx, r)
		if err != nil {
			return c.unrenewed(ctx, r, err)
		}
		if settled {
			return nil
		}
		select {
		case <-c.hold.news:
		case <-ticker.C():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sharedLook is how often to check a Lease we wait for if replicas share the bindings:
// another one may give it back at any moment.
const sharedLook = time.Second

// lookInterval is how often to check a Lease we wait for.
func (c *keeper) lookInterval() time.Duration {
	if c.fleet.options.Shares != nil {
		return min(sharedLook, c.hold.duration/3)
	}
	return c.hold.duration / 3
}

// keep renews the Lease until ctx ends, and calls end if another holder has it, or if it
// has not been renewed in time although the provider answers. Other errors are left to
// the probes: the next try may succeed.
func (c *keeper) keep(ctx context.Context, r *remote, end context.CancelCauseFunc) {
	ticker := c.fleet.options.Clock.NewTicker(c.hold.duration / 3)
	defer ticker.Stop()
	asked := c.fleet.options.Clock.Now()
	for {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
		now := c.fleet.options.Clock.Now()
		if !c.hold.held() && now.Sub(asked) < min(unfencedRetry, refusedDurations*c.hold.duration) {
			continue
		}
		asked = now
		err := c.renew(ctx, r)
		if err != nil && c.hold.expired() {
			err = c.unrenewed(ctx, r, err)
		}
		var refused errNotUsable
		switch {
		case errors.As(err, &refused):
			c.hold.drop()
			end(err)
			return
		case err != nil && ctx.Err() == nil:
			log.FromContext(ctx).V(1).Info("the Lease in the provider is not renewed", "error", err.Error())
		}
	}
}

// unrenewed handles an error with the Lease. If the provider answers a probe, only the Lease fails,
// most often because of an admission webhook, and unrenewed returns an error that says so: without
// the Lease we may write nothing there. Otherwise it returns err.
func (c *keeper) unrenewed(ctx context.Context, r *remote, err error) error {
	var refused errNotUsable
	if errors.As(err, &refused) || c.target.Leaving || ctx.Err() != nil || c.probe(ctx, r) != nil {
		return err
	}
	text := []rune(provenance.Clean(err.Error()))
	return errNotUsable{v1alpha1.ReasonLeaseNotRenewed, "the provider answers, but the Lease there cannot be read or written, and so nothing else may be written: " + string(text[:min(len(text), startMost)])}
}

// renew writes the Lease as we know it, and reads it only if that fails.
func (c *keeper) renew(ctx context.Context, r *remote) error {
	if c.hold.held() {
		s := c.snapshot(r.Account)
		if d := holder.Decide(s); d.Action == holder.Write {
			c.remember(ctx, d.Record)
			if done, err := c.write(ctx, r, s, d); done || err != nil {
				return err
			}
		}
		// It has changed or is gone, perhaps because this is another cluster.
		if err := c.probe(ctx, r); err != nil {
			return err
		}
	}
	_, err := c.look(ctx, r)
	return err
}

// look reads the Lease and acts on it. It is settled when we hold the Lease or can have
// none; when leaving, once it is gone.
func (c *keeper) look(ctx context.Context, r *remote) (settled bool, err error) {
	lease, err := c.readLease(ctx, r)
	switch {
	case err != nil && c.target.Leaving:
		return false, err // The Lease may exist.
	case err != nil:
		return c.without(ctx, err, true)
	}
	if c.hold.wentBack(lease) {
		c.hold.see(lease)
		return false, errNotUsable{v1alpha1.ReasonStartFailed, "the provider was restored from a backup: its versions have gone back, and all of it is read anew"}
	}
	c.hold.see(lease)
	s := c.snapshot(r.Account)
	d := holder.Decide(s)
	c.hold.judge(nil)
	switch d.Action {
	case holder.Refuse:
		c.hold.judge(errNotUsable{d.Reason, d.Message})
		return false, c.hold.judged()
	case holder.Record:
		c.remember(ctx, d.Record)
		return false, nil
	case holder.Write:
		c.remember(ctx, d.Record)
		return c.write(ctx, r, s, d)
	case holder.Delete:
		return c.delete(ctx, r, s.Lease)
	default:
		return false, nil
	}
}

// remember has a generation written to the status of the ClusterBinding.
func (c *keeper) remember(ctx context.Context, generation int64) {
	c.setState(ctx, func(s *State) {
		s.Holder = v1alpha1.HolderStatus{Generation: generation, Identity: c.fleet.options.Identity}
	})
}

func (c *keeper) readLease(ctx context.Context, r *remote) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, c.fleet.options.ProbeTimeout)
	defer cancel()
	lease := &coordinationv1.Lease{}
	err := r.live.Get(ctx, client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: holder.Name(c.mark())}, lease)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // No Lease is not an error.
	case err != nil:
		return nil, fmt.Errorf("reading the Lease in provider %s: %w", c.target.ClusterID, err)
	}
	return lease, nil
}

// write creates, takes or renews the Lease, unless it has changed since we saw it.
func (c *keeper) write(ctx context.Context, r *remote, s holder.Snapshot, d holder.Decision) (done bool, err error) {
	began := c.fleet.options.Clock.Now()
	var authority string
	bounded, cancel := context.WithTimeout(transport.WithAuthority(transport.PastTheFence(ctx), func(of string) { authority = of }), c.hold.duration/3)
	defer cancel()
	lease := holder.Written(s, d, began)
	if s.Lease == nil {
		err = r.GetClient().Create(bounded, lease)
	} else {
		err = r.GetClient().Patch(bounded, lease, client.MergeFromWithOptions(s.Lease, client.MergeFromWithOptimisticLock{}))
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && s.Lease != nil:
		c.hold.wake()
		return false, nil
	case err != nil:
		return c.without(ctx, fmt.Errorf("writing the Lease in provider %s: %w", c.target.ClusterID, err), false)
	}
	c.hold.wrote(lease, began)
	if s.Lease == nil || s.Lease.Annotations[v1alpha1.AnnotationGeneration] != lease.Annotations[v1alpha1.AnnotationGeneration] {
		c.hold.raise()
	}
	// Only the cluster that has this Lease, in this version, can have changed it.
	same := s.Lease == nil || s.Lease.UID == lease.UID
	c.setState(ctx, func(s *State) {
		s.Fence = connection.Fence{Reason: v1alpha1.ReasonLeaseHeld}
		if same {
			s.Authority, s.LastContact = authority, c.fleet.options.Clock.Now()
		}
	})
	return true, nil
}

// without goes on without a Lease if the provider denies us one; unread is set if it does
// not even let us read it.
func (c *keeper) without(ctx context.Context, err error, unread bool) (settled bool, _ error) {
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
	if verdict := c.hold.judged(); verdict != nil {
		return false, verdict
	}
	if c.fleet.options.Shares != nil {
		return false, errNotUsable{fence.Reason, fence.Message + "; replicas that share the bindings need the Lease: nothing else keeps two of them from writing there"}
	}
	if c.hold.patient(unread) {
		return false, errNotUsable{fence.Reason, fence.Message + "; there was a Lease before: without it this goes on in a minute"}
	}
	c.hold.lift()
	c.setState(ctx, func(s *State) { s.Fence = fence })
	return true, nil
}

// delete deletes the Lease, if any, unless it has changed since we saw it.
func (c *keeper) delete(ctx context.Context, r *remote, lease *coordinationv1.Lease) (done bool, err error) {
	if lease == nil {
		return true, nil
	}
	bounded, cancel := context.WithTimeout(transport.PastTheFence(ctx), c.fleet.options.ProbeTimeout)
	defer cancel()
	err = r.GetClient().Delete(bounded, lease, client.Preconditions{UID: &lease.UID, ResourceVersion: &lease.ResourceVersion})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		c.hold.wake()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("deleting the Lease in provider %s: %w", c.target.ClusterID, err)
	}
	return true, nil
}

// release gives the Lease back, so that the next manager need not wait. Nothing is
// written in the provider afterwards.
func (c *keeper) release(ctx context.Context, r *remote) {
	lease := c.hold.drop()
	if lease == nil {
		return
	}
	ctx, cancel := context.WithTimeout(transport.PastTheFence(ctx), c.fleet.options.ProbeTimeout)
	defer cancel()
	if !c.hold.settled(ctx) {
		log.FromContext(ctx).Info("a write in the provider was not answered: its Lease is left to expire, and the next manager waits until then")
		return
	}
	if err := r.GetClient().Patch(ctx, holder.Released(lease), client.MergeFromWithOptions(lease, client.MergeFromWithOptimisticLock{})); err != nil {
		log.FromContext(ctx).Info("the Lease in the provider is not given back: the next manager waits until it has expired", "error", err.Error())
	}
}
