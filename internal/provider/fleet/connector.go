package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/transport"
	"github.com/spillway-io/spillway/internal/retry"
)

// errNotUsable is an error that carries the reason why a provider is refused.
type errNotUsable struct{ reason, message string }

func (e errNotUsable) Error() string { return e.message }

// isRefused reports whether an error is an errNotUsable.
func isRefused(err error) bool {
	_, refused := errors.AsType[errNotUsable](err)
	return refused
}

// link is what outlives the sessions of one connection.
type link struct {
	options *Options
	// target is the first target: credentials has the current token and the pinned identity.
	target      Target
	credentials *credentials
	report      *report
	leaseState  *leaseState
	fence       *fence
}

// mark returns the mark of Spillway's objects in the provider.
func (l *link) mark() provenance.Mark {
	return provenance.Mark{Origin: l.options.Origin, ClusterID: l.target.ClusterID}
}

// wrap returns Options.WrapTransport for this provider, or nil.
func (l *link) wrap() func(http.RoundTripper) http.RoundTripper {
	wrap := l.options.WrapTransport
	if wrap == nil {
		return nil
	}
	return func(rt http.RoundTripper) http.RoundTripper { return wrap(l.target.Name, rt) }
}

// verify refuses the consumer itself, and any cluster except the bound one.
func (l *link) verify(uid string) error {
	if uid == l.options.Origin {
		return errNotUsable{v1alpha1.ReasonSameCluster, "the kubeconfig is for the consumer itself: a cluster cannot be its own provider"}
	}
	if pinned := l.credentials.now().PinnedUID; pinned != "" && uid != pinned {
		return errNotUsable{v1alpha1.ReasonIdentityChanged, fmt.Sprintf(
			"the kubeconfig is for another cluster (kube-system UID %s) than the bound one (%s): "+
				"restore the Secret, or delete and recreate the ClusterBinding", uid, pinned)}
	}
	return nil
}

// next returns a target for the next connection, with what this one knows.
func (l *link) next(target Target) Target {
	target.PinnedUID = l.credentials.now().PinnedUID
	target.Holder, target.TakeOver = l.leaseState.remembered()
	return target
}

// connector keeps one provider connected: it runs one session after another, and reports why each
// ended.
type connector struct {
	*link
	fleet    *Fleet
	failures failureCount
	// used has the kinds on demand that were watched at the end of the last session: writes of that time may
	// still arrive.
	used []client.Object

	// previous is the connector that this one replaces. It must end before this one engages the
	// provider under the same name.
	previous *connector
	cancel   context.CancelFunc // Nil if not started.
	done     chan struct{}
}

func newConnector(f *Fleet, target Target, previous *connector) *connector {
	reported := &report{state: State{Phase: Connecting}, changed: func(ctx context.Context) { f.notify(ctx, target.Name) }}
	return &connector{
		link: &link{
			options: &f.options, target: target, report: reported, credentials: newCredentials(target, reported),
			leaseState: &leaseState{
				clock: f.options.Clock, duration: f.options.LeaseDuration, news: make(chan struct{}, 1), recorded: target.Holder, takeOver: target.TakeOver,
			},
			fence: &fence{clock: f.options.Clock, duration: f.options.LeaseDuration},
		},
		fleet: f, failures: failureCount{leaving: target.Leaving}, previous: previous, done: make(chan struct{}),
	}
}

func (c *connector) start(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	go func() {
		defer c.fleet.forget(c)
		defer close(c.done)
		c.run(ctx)
	}()
}

func (c *connector) stop() {
	if c.cancel == nil {
		close(c.done)
		return
	}
	c.cancel()
}

// run runs one session after another until ctx ends. When leaving, it returns once it has left
// the provider, or has failed to leave it.
func (c *connector) run(ctx context.Context) {
	if c.previous != nil {
		<-c.previous.done
		c.used = c.previous.used
		c.previous = nil
	}
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("fleet").WithValues("binding", c.target.Name, "cluster", c.target.ClusterID))
	pause := newBackoff(c.options.ProbeInterval)
	var err error
	var lasted time.Duration
	_ = wait.DelayFunc(func() time.Duration { return pause.next(err, lasted) }).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		began := c.options.Clock.Now()
		defer func() { lasted = c.options.Clock.Since(began) }()
		err = c.session(ctx)
		if next := c.credentials.offer(); next != nil && ctx.Err() == nil {
			c.fleet.replace(c, *next)
			return true, nil
		}
		switch {
		case ctx.Err() != nil:
		case err == nil && c.target.Leaving:
			c.report.update(ctx, func(s *State) { s.Phase = Left })
			return true, nil
		case c.failures.mayBeTransient(err):
			c.reportUncertain(ctx, err)
		default:
			c.reportEnd(ctx, err)
			return c.target.Leaving, nil
		}
		return false, nil
	})
}

// session runs one session, and returns why it ended.
func (c *connector) session(ctx context.Context) error {
	s := &session{link: c.link, engaged: c.fleet.engaged, used: c.used}
	err := s.run(ctx)
	c.used = s.used
	if s.proven {
		c.failures.reset()
	}
	return err
}

// reportUncertain notes that the provider may or may not be usable. The last reported reason stays.
func (c *connector) reportUncertain(ctx context.Context, err error) {
	log.FromContext(ctx).V(1).Info("provider is asked again before it is said what is wrong", "error", err.Error())
	c.report.update(ctx, func(s *State) {
		if s.Phase == Connected {
			s.Phase = Connecting
		}
	})
}

// reportEnd reports why the last session ended.
func (c *connector) reportEnd(ctx context.Context, err error) {
	reason, message := verdict(err)
	c.report.update(ctx, func(s *State) {
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

// verdict returns the reason and the message of the condition for an error.
func verdict(err error) (reason, message string) {
	if refused, ok := errors.AsType[errNotUsable](err); ok {
		return refused.reason, refused.message
	}
	return transport.Classify(err)
}

// State is the state of a connection.
type State = connection.State

// The phases of a connection.
const (
	NotConnected = connection.NotConnected
	Connecting   = connection.Connecting
	Connected    = connection.Connected
	Disconnected = connection.Disconnected
	Left         = connection.Left
)

// report is the State of one connection.
type report struct {
	changed func(context.Context) // Sends an event.

	mu    sync.Mutex
	state State
}

func (r *report) now() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// set changes the state without an event, and reports whether anybody waits for such a change.
func (r *report) set(change func(*State)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.state
	change(&r.state)
	return !connection.SameVerdict(before, r.state)
}

// update changes the state, and sends an event if anybody waits for such a change.
func (r *report) update(ctx context.Context, change func(*State)) {
	if r.set(change) {
		r.changed(ctx)
	}
}
