package fleet

import (
	"context"
	"errors"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/fleet/transport"
)

// errOtherCredentials ends a session whose credentials are to be replaced.
var errOtherCredentials = errors.New("the credentials are replaced")

// goesOn reports whether the connection goes on for a target. One that differs only in
// its token is offered to the session, if the provider is in use; otherwise there is
// nothing that a new connection would lose. The account of a token is not read from the
// token: only the provider can tell it.
func (c *keeper) goesOn(target Target) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.target.continues(target):
		return false
	case c.target.Fingerprint == target.Fingerprint:
		if c.offered != nil { // And it was taken back.
			c.offered, c.state.Untried = nil, false
		}
	case !c.inUse:
		return false
	case c.offered == nil || c.offered.Fingerprint != target.Fingerprint:
		c.offered, c.state.Untried = &target, true
		select {
		case c.offers <- struct{}{}:
		default: // It will look.
		}
	}
	return true
}

// setInUse notes whether the provider is in use, so that a token can be offered.
func (c *keeper) setInUse(inUse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inUse = inUse
}

// offer is the target with a renewed token, or nil.
func (c *keeper) offer() *Target {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offered
}

// renewToken uses a token that was offered, if it is of the same account. If it is not, or if
// that cannot be told, the session ends, and a connection with the new token replaces
// this one: what is wrong with the token is then told as always, and the old one, which
// the Secret no longer has, is not used any more.
func (c *keeper) renewToken(ctx context.Context, r *remote) error {
	offered := c.offer()
	if offered == nil {
		return nil
	}
	if err := c.sameAccount(ctx, r, offered); err != nil {
		log.FromContext(ctx).V(1).Info("a new token takes a new connection", "because", err.Error())
		return errOtherCredentials
	}
	c.bearer.Set(offered.Config.BearerToken)
	c.mu.Lock()
	c.target.Config, c.target.Fingerprint = offered.Config, offered.Fingerprint
	latest := c.offered == nil || c.offered.Fingerprint == offered.Fingerprint
	if latest {
		c.offered = nil
	}
	c.mu.Unlock()
	log.FromContext(ctx).V(1).Info("the token was renewed")
	c.setState(ctx, func(s *State) { s.Untried = s.Untried && !latest })
	return nil
}

// sameAccount asks the provider, with the new token and over a connection of its own,
// whether it is the same cluster and knows us as before.
func (c *keeper) sameAccount(ctx context.Context, r *remote, offered *Target) error {
	ctx, cancel := context.WithTimeout(transport.PastTheFence(ctx), c.fleet.options.ProbeTimeout)
	defer cancel()
	live, httpClient, err := c.apart(offered.Config, transport.Options{Wrap: c.wrap()})
	if err != nil {
		return err
	}
	defer transport.Close(httpClient)
	uid, err := identityOf(ctx, live)
	if err != nil {
		return err
	}
	if err := c.verify(uid); err != nil {
		return err
	}
	account, err := c.whoami(ctx, offered.Config, httpClient)
	if err == nil && !same(r.user, account) {
		err = errors.New("it is of another account")
	}
	return err
}

// same reports whether two answers of a provider are about the same account with the same
// groups. What else it tells, such as the ID of the token, differs from token to token.
// Without an answer nothing is the same.
func same(a, b authenticationv1.UserInfo) bool {
	return a.Username != "" && a.Username == b.Username && a.UID == b.UID &&
		slices.Equal(slices.Sorted(slices.Values(a.Groups)), slices.Sorted(slices.Values(b.Groups)))
}

// replace begins the connection that takes the place of one that has ended because of its
// credentials, unless somebody has done so already.
func (f *Fleet) replace(c *keeper, target Target) {
	target.PinnedUID = c.pinnedUID()
	target.Holder, target.TakeOver = c.hold.remembered()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.connections[target.Name] == c {
		f.begin(target, true)
	}
}
