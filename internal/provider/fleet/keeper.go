package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// keeper keeps a session in use after it has the Lease: it engages the provider, renews the Lease, probes the
// provider, and takes renewed tokens. One goroutine decides, with one timer. Each request has a goroutine of its own,
// so none delays another.
type keeper struct {
	*session
	lease *leaseManager
	pulse pulse
	// answers tell how a request has ended. There is room for one of each kind, so nobody waits to tell it.
	answers chan func() error
	// offers is credentials.offers while a token can be taken, otherwise nil.
	offers <-chan struct{}
}

func newKeeper(s *session, lease *leaseManager) *keeper {
	return &keeper{session: s, lease: lease, pulse: pulse{options: s.options}, answers: make(chan func() error, 4)}
}

// keep returns why the provider can no longer be used. By then it is not being engaged.
func (k *keeper) keep(ctx context.Context) (err error) {
	var engaging sync.WaitGroup
	defer func() {
		if !k.pulse.used.IsZero() {
			k.credentials.setInUse(false)
			k.used = slices.DeleteFunc(k.caches.demand.Watched(), k.caches.notServed)
		}
		k.end(err)
		engaging.Wait()
	}()
	k.pulse.start(k.options.Clock.Now(), k.lease.holds())
	end := k.end // What outlives the session, such as a view, may keep the context, but must not keep the caches.
	engaging.Go(func() {
		err := k.engage(connection.WithEnd(ctx, func(err error) { end(startFailed(err)) }))
		k.answers <- func() error { return k.engagedAs(ctx, err) }
	})
	timer := k.options.Clock.NewTimer(k.ask(ctx))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case answer := <-k.answers:
			if err := answer(); err != nil {
				return err
			}
		case <-k.offers:
			k.offers = nil
			k.takeToken(ctx)
		case <-timer.C():
		}
		timer.Reset(k.ask(ctx))
	}
}

// ask sends what is due, and returns how long nothing else will be.
func (k *keeper) ask(ctx context.Context) time.Duration {
	now, contact := k.options.Clock.Now(), k.report.now().LastContact
	if k.pulse.renewalIsDue(now) {
		k.renew(ctx, now)
	}
	if k.pulse.probeIsDue(now, contact) {
		k.probeAgain(ctx, now)
	}
	if !k.proven && k.pulse.isProven(now, contact) {
		k.proven = true
		k.connected(ctx)
	}
	return k.pulse.rest(now, contact)
}

// engagedAs notes that the provider is engaged, or returns why it is not.
func (k *keeper) engagedAs(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	if k.report.now().Reason != v1alpha1.ReasonStartFailed {
		k.connected(ctx)
	}
	k.pulse.use(k.options.Clock.Now())
	k.offers = k.credentials.offers
	k.credentials.setInUse(true)
	return nil
}

func (k *keeper) renew(ctx context.Context, now time.Time) {
	k.pulse.renewing = true
	k.asking.Go(func() {
		done, err := k.lease.keep(ctx)
		k.answers <- func() error {
			k.pulse.renewed(now, k.lease.holds(), done)
			return err
		}
	})
}

func (k *keeper) probeAgain(ctx context.Context, now time.Time) {
	k.pulse.probing, k.pulse.probed = true, now
	k.asking.Go(func() {
		err := k.probe(ctx)
		k.answers <- func() error {
			k.pulse.probing = false
			switch {
			case err == nil:
				k.pulse.failures = 0
			case k.isBusy(err, now):
			case isRefused(err), k.pulse.failures+1 >= k.options.ProbeFailures:
				return err
			default:
				k.pulse.failures++
			}
			return nil
		}
	})
}

// isBusy reports whether the probe that began at a time failed only because the provider has too much to do: it has
// answered something else since, or it refuses probes with 429, and its last answer is not long ago.
func (k *keeper) isBusy(err error, began time.Time) bool {
	contact := k.report.now().LastContact
	return isLate(err) && contact.After(began) || apierrors.IsTooManyRequests(err) && began.Sub(contact) < patience*k.options.LeaseDuration
}

func (k *keeper) takeToken(ctx context.Context) {
	k.asking.Go(func() {
		err := k.renewToken(ctx)
		k.answers <- func() error {
			k.offers = k.credentials.offers
			return err
		}
	})
}
