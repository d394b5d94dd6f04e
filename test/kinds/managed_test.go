package kinds

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/lease"
	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// leaseDuration is how long a manager waits if the manager before it crashed, and its Lease was not released.
const leaseDuration = 4 * time.Second

// managed is the manager of a world, across all of its crashes.
type managed struct {
	world    *world.World
	injector *inject.Injector

	ctx     context.Context //nolint:containedctx // It is the life of the managers; the hook is called without one.
	cancel  context.CancelFunc
	group   sync.WaitGroup
	crashed chan struct{}

	mu       sync.Mutex
	process  *inject.Process
	manager  *world.Manager
	starts   int
	problems []error
}

// manage starts the first manager.
func manage(ctx context.Context, w *world.World) (*managed, error) {
	m := &managed{world: w, crashed: make(chan struct{}, 1)}
	m.ctx, m.cancel = context.WithCancel(ctx)
	m.injector = inject.New(inject.Hooks{OnCrash: func() { m.crashed <- struct{}{} }})
	if err := m.start(); err != nil {
		m.cancel()
		return nil, err
	}
	m.group.Go(m.restart)
	return m, nil
}

func (m *managed) start() error {
	process := m.injector.Process()
	started, err := m.world.StartManager(m.ctx, fleet.Options{LeaseDuration: leaseDuration}, process.WrapNamed)
	if err != nil {
		return fmt.Errorf("starting a manager: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process, m.manager = process, started
	m.starts++
	return nil
}

// restart starts a fresh manager whenever one has crashed.
func (m *managed) restart() {
	for {
		_, manager, _ := m.current()
		select {
		case <-m.ctx.Done():
			return
		case <-m.crashed:
		case <-manager.Ended():
			if m.ctx.Err() != nil {
				return
			}
			m.problem(errors.New("the manager has ended by itself"))
		}
		_ = manager.Stop() // It was killed.
		if err := errors.Join(m.releaseLease(), m.start()); err != nil && m.ctx.Err() == nil {
			m.problem(err)
			return
		}
	}
}

// releaseLease releases the Lease of a manager that was killed. Without that, the next one waits until the
// Lease has expired; test/crash tests that.
func (m *managed) releaseLease() error {
	of := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.ProviderNamespace, Name: lease.Name(provenance.Mark{Origin: m.world.Origin, ClusterID: world.P1}),
	}}
	released := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"holderIdentity":null}}`))
	return client.IgnoreNotFound(m.world.Cluster(world.P1).Admin.Patch(m.ctx, of, released))
}

// replace stops the manager in good order, and starts another one.
func (m *managed) replace(ctx context.Context) error {
	m.end()
	m.ctx, m.cancel = context.WithCancel(ctx)
	if err := m.start(); err != nil {
		return err
	}
	m.group.Go(m.restart)
	return nil
}

func (m *managed) end() {
	m.cancel()
	m.group.Wait()
	process, manager, _ := m.current()
	_ = manager.Stop() // Its context has ended.
	process.Kill()     // If a part of it is left after its grace period, that part writes no more.
}

// followed waits until this many managers were started.
func (m *managed) followed(ctx context.Context, starts int, patience time.Duration) error {
	return rig.Eventually(ctx, patience, func(context.Context) error {
		if _, _, is := m.current(); is < starts {
			return fmt.Errorf("%d managers were started, waiting for %d", is, starts)
		}
		return nil
	})
}

func (m *managed) current() (*inject.Process, *world.Manager, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process, m.manager, m.starts
}

func (m *managed) problem(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problems = append(m.problems, err)
}

// err returns the errors of the managers themselves.
func (m *managed) err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	errs := m.problems
	if m.world.Log.Panicked() {
		errs = append(errs, errors.New("a manager has panicked"))
	}
	return errors.Join(errs...)
}
