package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/provenance"
)

// session connects to the provider, and returns why that ended.
func (c *keeper) session(ctx context.Context) error {
	whole := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	remote, err := c.newRemote(ctx, newRefusals(c.fleet.options.Clock, cancel).add, cancel)
	if err != nil {
		cancel(nil)
		return err
	}
	defer func() {
		c.fleet.disengage(c.target.Name)
		cancel(nil)
		if whole.Err() != nil {
			c.release(context.WithoutCancel(whole), remote)
		}
		remote.close()
	}()
	err = c.use(ctx, remote, cancel)
	if cause := context.Cause(ctx); cause != nil {
		return cause // The cause says more than the errors that it led to.
	}
	return err
}

// use identifies the provider, waits until its identity is pinned and its Lease is ours,
// engages it, and returns why it can no longer be used. end ends the session from
// elsewhere. When leaving, it returns nil once the Lease is gone.
func (c *keeper) use(ctx context.Context, remote *remote, end context.CancelCauseFunc) error {
	if err := c.identify(ctx, remote); err != nil {
		return err
	}
	select {
	case <-c.pinned:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := c.verify(c.currentState().UID); err != nil {
		return err
	}
	if err := c.acquire(ctx, remote); err != nil || c.target.Leaving {
		return err
	}
	go c.keep(ctx, remote, end)
	if err := c.engage(connection.WithEnd(ctx, func(err error) { end(startFailed(err)) }), remote); err != nil {
		return err
	}
	defer func() { c.used = remote.demand.Watched() }()
	if c.currentState().Reason != v1alpha1.ReasonStartFailed {
		c.connected(ctx, remote)
	}
	return c.watchHealth(ctx, remote)
}

// connected reports that the provider can be used. After a failed start it waits until
// the next one has outlived a probe: otherwise a start that always fails would be
// reported as working each time.
func (c *keeper) connected(ctx context.Context, remote *remote) {
	if s := c.currentState(); s.Phase == Connected {
		return
	}
	log.FromContext(ctx).Info("provider is connected", "version", c.currentState().Version)
	c.setState(ctx, func(s *State) {
		s.Phase, s.Reason, s.Message, s.Limited, s.NoMetrics = Connected, "", "", remote.Rights.String(), ""
	})
}

// startMost limits the quoted reason of a failed start.
const startMost = 512

// startFailed is the error of a connection that cannot be used as a whole.
func startFailed(err error) errNotUsable {
	text := []rune(provenance.Clean(err.Error()))
	return errNotUsable{v1alpha1.ReasonStartFailed, "it is tried again: " + string(text[:min(len(text), startMost)])}
}

// isStartFailed reports whether startFailed made the error.
func isStartFailed(err error) bool {
	var refused errNotUsable
	return errors.As(err, &refused) && refused.reason == v1alpha1.ReasonStartFailed
}

// identify asks the provider who it is, once.
func (c *keeper) identify(ctx context.Context, remote *remote) error {
	bounded, cancel := context.WithTimeout(ctx, c.fleet.options.ProbeTimeout)
	defer cancel()
	uid, authority, err := remote.identity(bounded)
	if err != nil {
		return err
	}
	version, err := remote.version(bounded)
	if err != nil {
		return err
	}
	remote.user, err = c.whoami(transport.PastTheFence(bounded), c.target.Config, remote.httpClient)
	if err != nil {
		return err
	}
	remote.Account = provenance.Account(remote.user.Username)
	remote.Streams.Identity = uid + " " + cmp.Or(remote.user.Username, c.target.Fingerprint)
	if err := c.verify(uid); err != nil {
		return err
	}
	c.setState(ctx, func(s *State) {
		s.UID, s.Authority, s.Version, s.LastContact, s.Untried = uid, authority, version, c.fleet.options.Clock.Now(), false
	})
	return nil
}

// verify refuses the consumer itself, and any cluster but the bound one.
func (c *keeper) verify(uid string) error {
	if uid == c.fleet.options.Origin {
		return errNotUsable{v1alpha1.ReasonSameCluster, "the kubeconfig leads to the consumer itself: a cluster cannot be its own provider"}
	}
	if pinned := c.pinnedUID(); pinned != "" && uid != pinned {
		return errNotUsable{v1alpha1.ReasonIdentityChanged, fmt.Sprintf(
			"the kubeconfig leads to another cluster (kube-system UID %s) than the one that was bound (%s): "+
				"restore the Secret, or delete the ClusterBinding and make it again", uid, pinned)}
	}
	return nil
}

// engage fills the caches of the provider, and hands it to the manager.
func (c *keeper) engage(ctx context.Context, remote *remote) error {
	syncCtx, cancel := context.WithTimeout(ctx, c.fleet.options.SyncTimeout)
	defer cancel()
	remote.Limits.Follow(c.noteLimits(ctx))
	var err error
	if remote.PodMetrics, err = c.newPodMetrics(ctx, remote); err != nil {
		return err
	}
	if err := remote.fillCaches(syncCtx, ctx, c.used); err != nil {
		return err
	}
	if err := remote.Limits.start(syncCtx, ctx); err != nil {
		return err
	}
	// We have just filled the caches from the provider, so it answers. If we had to wait for its
	// Lease, the last contact that we noted is old, and the controllers would think it away.
	c.setState(ctx, func(s *State) { s.LastContact = c.fleet.options.Clock.Now() })
	if err := c.fleet.engage(ctx, c.target.Name, remote.Provider); err != nil {
		return fmt.Errorf("engaging provider %s: %w", c.target.ClusterID, err)
	}
	return nil
}

const (
	// quiet is after how many ProbeIntervals without an answer a provider is probed. As
	// shipped, the renewals of the Lease come sooner: they prove as much as a probe does.
	quiet = 2
	// atLeast is after how many ProbeIntervals it is probed in any case, which finds what a
	// renewal does not, such as a missing right.
	atLeast = 10
)

// watchHealth probes the provider until it stops answering. Meanwhile its token can be
// renewed.
func (c *keeper) watchHealth(ctx context.Context, remote *remote) error {
	options := c.fleet.options
	began := options.Clock.Now()
	timer := options.Clock.NewTimer(options.ProbeInterval)
	defer timer.Stop()
	c.setInUse(true)
	defer c.setInUse(false)
	failures, probed := 0, began
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.offers:
			if err := c.renewToken(ctx, remote); err != nil {
				return err
			}
			continue
		case <-timer.C():
		}
		if failures > 0 || !c.currentState().LastContact.After(began) || c.probeDue(probed) <= 0 {
			probed = options.Clock.Now()
			err := c.probe(ctx, remote)
			var refused errNotUsable
			switch {
			case err == nil:
				failures = 0
			case errors.As(err, &refused):
				return err
			default:
				if failures++; failures >= options.ProbeFailures {
					return err
				}
				timer.Reset(options.ProbeInterval)
				continue
			}
		}
		c.doubt.dispelled()
		c.connected(ctx, remote)
		timer.Reset(c.probeDue(probed))
	}
}

// probeDue is how long the next probe of a provider that answers can wait; last is when the
// last one began.
func (c *keeper) probeDue(last time.Time) time.Duration {
	options := c.fleet.options
	heard := c.currentState().LastContact
	return min(quiet*options.ProbeInterval-options.Clock.Since(heard), atLeast*options.ProbeInterval-options.Clock.Since(last))
}

// probe checks that the provider answers, accepts the credentials, and is
// still the same cluster.
func (c *keeper) probe(ctx context.Context, remote *remote) error {
	bounded, cancel := context.WithTimeout(ctx, c.fleet.options.ProbeTimeout)
	defer cancel()
	uid, authority, err := remote.identity(bounded)
	if err != nil {
		return err
	}
	if err := c.verify(uid); err != nil {
		return err
	}
	c.setState(ctx, func(s *State) { s.Authority, s.LastContact = authority, c.fleet.options.Clock.Now() })
	return nil
}
