package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// startWithin is how long the session tries to start a manager.
const startWithin = 30 * time.Second

// session keeps the manager of a run going, over all of its crashes.
type session struct {
	world    *world.World
	ledger   *oracle.Ledger
	injector *inject.Injector
	// meanwhile are the points that must come before a cut is healed.
	meanwhile []recipe.Point

	ctx     context.Context //nolint:containedctx // It is the life of the run; the hooks are called without one.
	cancel  context.CancelFunc
	group   sync.WaitGroup
	crashed chan struct{}
	// connections are the connection options of its managers.
	connections fleet.Options

	mu       sync.Mutex
	process  *inject.Process
	manager  *world.Manager
	problems []string
	// away is true if the consumer was cut off: a manager may then end by itself.
	away bool
}

// newSession starts the first manager of a run.
func newSession(ctx context.Context, w *world.World, ledger *oracle.Ledger, meanwhile []recipe.Point) (*session, error) {
	s := &session{world: w, ledger: ledger, meanwhile: meanwhile, crashed: make(chan struct{}, 8), connections: world.InHaste()}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.injector = inject.New(inject.Hooks{
		OnCrash: func() { s.crashed <- struct{}{} },
		OnCut:   s.cut,
		OnNotFound: func(cluster string, target requests.Target) {
			if err := removeNow(s.ctx, w.Cluster(cluster).Admin, target); err != nil && s.ctx.Err() == nil {
				s.problem("removing what is not to be found: %v", err)
			}
		},
		Mask: mask(w.ConsumerID),
	})
	w.Asked = func(cluster, verb, resource, name string) bool {
		return slices.ContainsFunc(s.injector.Points(), func(p recipe.Point) bool {
			return p.Cluster == cluster && p.Verb == verb && p.Resource == resource && p.Name == name
		})
	}
	w.HandOver = s.handOver
	if err := s.start(); err != nil {
		s.cancel()
		return nil, err
	}
	s.group.Go(s.restart)
	return s, nil
}

// hashed matches the end of a name that has a hash over the consumer's identity, or the UID of an object.
var hashed = regexp.MustCompile(`-([0-9a-f]{16}([0-9a-f]{16})?|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// mask makes the names of all lanes the same.
func mask(consumerID string) func(string) string {
	own := regexp.MustCompile(`(^|-)` + regexp.QuoteMeta(consumerID) + `(-|$)`)
	return func(name string) string {
		return own.ReplaceAllString(hashed.ReplaceAllString(name, "-hash"), "${1}lane${2}")
	}
}

// start starts a new manager.
func (s *session) start() error {
	process := s.injector.Process()
	manager, err := s.world.StartManager(s.ctx, s.connections, func(cluster string, next http.RoundTripper) http.RoundTripper {
		return s.ledger.WrapOuter(cluster, process.WrapNamed(cluster, s.ledger.WrapNamed(cluster, next)))
	})
	if err != nil {
		return fmt.Errorf("starting a manager: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.manager = process, manager
	return nil
}

// restart starts a new manager whenever one has crashed or ended by itself, as a Deployment does.
func (s *session) restart() {
	for {
		process, manager := s.current()
		select {
		case <-s.ctx.Done():
			return
		case <-s.crashed:
		case <-manager.Ended():
		}
		if s.ctx.Err() != nil {
			return
		}
		err := manager.Stop()
		if process.Crashed() {
			select { // restart may have seen its end before its crash.
			case <-s.crashed:
			default:
			}
		} else if !s.consumerAway() {
			s.problem("the manager has ended by itself: %v", err)
		}
		// A manager does not start while the consumer is away.
		if err = rig.Eventually(s.ctx, startWithin, func(context.Context) error { return s.start() }); err != nil {
			if s.ctx.Err() == nil {
				s.problem("%v", err)
			}
			return
		}
	}
}

// handOver kills the manager. The next one has another address.
func (s *session) handOver() error {
	process, _ := s.current()
	if err := s.world.Move(); err != nil {
		return err
	}
	process.Kill()
	s.crashed <- struct{}{}
	return nil
}

func (s *session) current() (*inject.Process, *world.Manager) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process, s.manager
}

// stop ends the manager for good, and waits for its end.
func (s *session) stop() {
	s.cancel()
	s.group.Wait()
	process, manager := s.current()
	process.Kill()
	_ = manager.Stop() // It was killed.
}

// replace ends the manager in good order and starts another one. No more faults come, and the new manager
// should find nothing to do, so it has the default connection options. replace returns when that manager's
// caches of the consumer are full. It also returns the time at which the old manager had ended.
func (s *session) replace(ctx context.Context) (time.Time, error) {
	s.cancel()
	s.group.Wait()
	process, manager := s.current()
	_ = manager.Stop() // Its context has ended.
	process.Kill()     // After its grace period, nothing that is left of it writes any more.
	alone := time.Now()
	s.connections = fleet.Options{}
	s.ctx, s.cancel = context.WithCancel(ctx)
	if err := s.start(); err != nil {
		return alone, err
	}
	s.group.Go(s.restart)
	_, manager = s.current()
	return alone, manager.Synced(ctx, startWithin)
}

// cut disconnects a cluster. The injector calls it right before it sends a request.
func (s *session) cut(cluster string, kind recipe.Kind) {
	if cluster == world.Consumer {
		s.mu.Lock()
		s.away = true
		s.mu.Unlock()
	}
	c := newCut(s.world, cluster, kind)
	due := missing(s.meanwhile, s.injector.Points()) // Writes before the cut prove nothing.
	s.group.Go(func() {
		defer c.proxy.Heal()
		if err := errors.Join(c.wait(s.ctx), c.others(s.ctx, s.injector, due)); err != nil && s.ctx.Err() == nil {
			s.problem("%v", err)
		}
		s.injector.Note(fmt.Sprintf("to be healed after %d tries", c.proxy.Tries()))
	})
}

func (s *session) consumerAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

func (s *session) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// allProblems returns the problems that came up in the background.
func (s *session) allProblems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.problems...)
}
