package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
)

// errNotUsable is an error that carries the reason why a provider is refused.
type errNotUsable struct{ reason, message string }

func (e errNotUsable) Error() string { return e.message }

// keeper keeps one provider connected, over any number of sessions.
type keeper struct {
	fleet *Fleet

	mu     sync.Mutex
	target Target
	state  State
	pinned chan struct{} // Closed once target.PinnedUID is set.
	cancel context.CancelFunc
	// offered is the target with a token that is to replace the one in use, inUse is set
	// while a session can take one, and offers is filled when there is one.
	offered *Target
	inUse   bool
	offers  chan struct{}

	bearer *transport.Bearer // Of target.Config; nil: it has no token.

	hold  *hold
	doubt doubt // Used only by the goroutine of the sessions, as is used.
	// used are the kinds on demand that were watched at the end of the last session: what was
	// on its way then may still get there.
	used []client.Object

	// previous is the keeper that this one replaces, which must disengage before this one
	// engages under the same name.
	previous *keeper
	done     chan struct{}
}

func newKeeper(f *Fleet, target Target, previous *keeper) *keeper {
	c := &keeper{
		fleet: f, target: target, state: State{Phase: Connecting},
		pinned: make(chan struct{}), offers: make(chan struct{}, 1), bearer: transport.NewBearer(target.Config.BearerToken), previous: previous, done: make(chan struct{}), doubt: doubt{leaving: target.Leaving},
	}
	c.hold = newHold(&c.target, &f.options)
	if target.PinnedUID != "" {
		close(c.pinned)
	}
	return c
}

func (c *keeper) start(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	go func() {
		defer c.fleet.forget(c)
		defer close(c.done)
		c.run(ctx)
	}()
}

func (c *keeper) stop() {
	if c.cancel == nil { // Never started.
		close(c.done)
		return
	}
	c.cancel()
}

func (c *keeper) pin(uid string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.target.PinnedUID == "" && uid != "" {
		c.target.PinnedUID = uid
		close(c.pinned)
	}
}

// mark is carried by our objects in the provider.
func (c *keeper) mark() provenance.Mark {
	return provenance.Mark{Origin: c.fleet.options.Origin, ClusterID: c.target.ClusterID}
}

func (c *keeper) pinnedUID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target.PinnedUID
}

// config is the configuration with the token in use, and fingerprint its digest.
func (c *keeper) config() *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target.Config
}

func (c *keeper) fingerprint() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target.Fingerprint
}

func (c *keeper) currentState() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// setState changes the state, and sends an event if anybody may care.
func (c *keeper) setState(ctx context.Context, change func(*State)) {
	c.mu.Lock()
	before := c.state
	change(&c.state)
	changed := !connection.SameVerdict(before, c.state)
	c.mu.Unlock()
	if changed {
		c.fleet.notify(ctx, c.target.Name)
	}
}

// parting is the target of a keeper that continues only to leave.
func (c *keeper) parting() Target {
	c.mu.Lock()
	defer c.mu.Unlock()
	target := c.target
	target.Holder, target.TakeOver = c.hold.remembered()
	target.Leaving = true
	return target
}

// run runs one session after another until ctx ends. When leaving, it returns once it has left
// the provider, or has failed to leave it.
func (c *keeper) run(ctx context.Context) {
	if c.previous != nil {
		<-c.previous.done
		c.used = c.previous.used
		c.previous = nil
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("fleet").WithValues("binding", c.target.Name, "cluster", c.target.ClusterID))
	pause := newPause(c.fleet.options.ProbeInterval)
	var err error
	var lasted time.Duration
	_ = wait.DelayFunc(func() time.Duration { return pause.after(err, lasted) }).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		began := c.fleet.options.Clock.Now()
		defer func() { lasted = c.fleet.options.Clock.Since(began) }()
		err = c.session(ctx)
		if next := c.offer(); next != nil && ctx.Err() == nil {
			c.fleet.replace(c, *next)
			return true, nil
		}
		switch {
		case ctx.Err() != nil:
		case err == nil && c.target.Leaving:
			c.setState(ctx, func(s *State) { s.Phase = Left })
			return true, nil
		case c.doubt.about(err):
			c.doubted(ctx, err)
		default:
			c.lost(ctx, err)
			return c.target.Leaving, nil
		}
		return false, nil
	})
}

// doubted notes that the provider may or may not be usable: its last report stands.
func (c *keeper) doubted(ctx context.Context, err error) {
	log.FromContext(ctx).V(1).Info("provider is asked again before it is said what is wrong", "error", err.Error())
	c.setState(ctx, func(s *State) {
		if s.Phase == Connected {
			s.Phase = Connecting
		}
	})
}

// lost reports why the last session ended.
func (c *keeper) lost(ctx context.Context, err error) {
	reason, message := verdict(err)
	c.setState(ctx, func(s *State) {
		if s.Phase != Disconnected || s.Reason != reason {
			log.FromContext(ctx).Info("provider is not connected", "reason", reason, "message", message)
		}
		if (reason == v1alpha1.ReasonStartFailed || reason == v1alpha1.ReasonLeaseNotRenewed) && s.Reason == reason && retry.SameError(s.Message, message) {
			return // It differs only in details such as a port.
		}
		s.Phase, s.Reason, s.Message = Disconnected, reason, message
		s.Untried = s.Untried && !s.CredentialsRefused()
	})
}

// verdict is the reason and the message of the condition for an error.
func verdict(err error) (reason, message string) {
	var refused errNotUsable
	if errors.As(err, &refused) {
		return refused.reason, refused.message
	}
	return transport.Classify(err)
}
