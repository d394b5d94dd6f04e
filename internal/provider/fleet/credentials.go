package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/provider/transport"
)

// credentials hold the current target of a connection: the provider's identity may be pinned after the start,
// and a token may be renewed.
type credentials struct {
	report *report
	bearer *transport.Bearer // The token of the target's Config. Nil if it has no token.
	pinned chan struct{}     // Closed once the target has a PinnedUID.
	offers chan struct{}     // Filled when a target is offered.

	mu     sync.Mutex
	target Target
	// offered is the target with a token that should replace the current one. inUse is set while a session can
	// take it.
	offered *Target
	inUse   bool
}

func newCredentials(target Target, reported *report) *credentials {
	k := &credentials{
		report: reported, bearer: transport.NewBearer(target.Config.BearerToken), pinned: make(chan struct{}), offers: make(chan struct{}, 1), target: target,
	}
	if target.PinnedUID != "" {
		close(k.pinned)
	}
	return k
}

// now returns the current target.
func (k *credentials) now() Target {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.target
}

// pin notes the identity that the provider must have.
func (k *credentials) pin(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.target.PinnedUID == "" && uid != "" {
		k.target.PinnedUID = uid
		close(k.pinned)
	}
}

// goesOn reports whether the connection continues for a target. A target that differs only in its token is
// offered to the session, if the provider is in use. Otherwise a new connection loses nothing. Only the
// provider can tell whose token it is.
func (k *credentials) goesOn(target Target) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.target.continues(target):
		return false
	case k.target.Fingerprint == target.Fingerprint:
		if k.offered != nil { // And it was taken back.
			k.offered = nil
			k.report.set(func(s *State) { s.Untried = false })
		}
	case !k.inUse:
		return false
	case k.offered == nil || k.offered.Fingerprint != target.Fingerprint:
		k.offered = &target
		k.report.set(func(s *State) { s.Untried = true })
		select {
		case k.offers <- struct{}{}:
		default: // The session has yet to look.
		}
	}
	return true
}

// setInUse notes whether the provider is in use, so that a token can be offered.
func (k *credentials) setInUse(inUse bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inUse = inUse
}

// offer returns the target with a renewed token, or nil.
func (k *credentials) offer() *Target {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.offered
}

// take makes an offered target the current one, and reports whether no later one is offered.
func (k *credentials) take(offered *Target) (latest bool) {
	k.bearer.Set(offered.Config.BearerToken)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.target.Config, k.target.Fingerprint = offered.Config, offered.Fingerprint
	if k.offered == nil || k.offered.Fingerprint == offered.Fingerprint {
		k.offered = nil
	}
	return k.offered == nil
}

// errOtherCredentials ends a session whose credentials are being replaced.
var errOtherCredentials = errors.New("the credentials are replaced")

// renewToken uses an offered token if it belongs to the same account. If it does not, or if that is unknown,
// the session ends. A connection with the new token replaces this one, and reports what is wrong with the
// token. The old token is no longer used, because the Secret no longer has it.
func (s *session) renewToken(ctx context.Context) error {
	offered := s.credentials.offer()
	if offered == nil {
		return nil
	}
	if err := s.sameAccount(ctx, offered); err != nil {
		log.FromContext(ctx).V(1).Info("a new token takes a new connection", "because", err.Error())
		return errOtherCredentials
	}
	latest := s.credentials.take(offered)
	log.FromContext(ctx).V(1).Info("the token was renewed")
	s.report.update(ctx, func(state *State) { state.Untried = state.Untried && !latest })
	return nil
}

// sameAccount asks the provider, with the offered token and over a separate connection, whether it is the same
// cluster and knows the manager as before.
func (s *session) sameAccount(ctx context.Context, offered *Target) error {
	ctx, cancel := context.WithTimeout(transport.WithoutFence(ctx), s.options.ProbeTimeout)
	defer cancel()
	apart, err := newClients(offered.Config, transport.Options{Wrap: s.wrap()}, s.options.mapper)
	if err != nil {
		return err
	}
	defer apart.close()
	uid, _, err := apart.identity(ctx)
	if err != nil {
		return err
	}
	if err := s.verify(uid); err != nil {
		return err
	}
	account, err := apart.whoami(ctx)
	if err == nil && !same(s.user, account) {
		err = errors.New("it is of another account")
	}
	return err
}

// same reports whether two answers of a provider name the same account with the same groups. Other details,
// such as the ID of the token, differ between tokens. Without an answer, nothing is the same.
func same(a, b authenticationv1.UserInfo) bool {
	return a.Username != "" && a.Username == b.Username && a.UID == b.UID &&
		slices.Equal(slices.Sorted(slices.Values(a.Groups)), slices.Sorted(slices.Values(b.Groups)))
}
