package world

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// player adds to mgr what plays a part of Kubernetes in cluster c.
type player func(mgr ctrl.Manager, c *rig.Cluster) error

// atATime is how many objects of a kind a player handles at a time, so that lanes do not wait for each other.
const atATime = 8

// play starts players in a cluster. Down returns their errors.
func (s *Site) play(ctx context.Context, c *rig.Cluster, players ...player) error {
	mgr, err := ctrl.NewManager(c.Config(), ctrl.Options{
		Scheme: manager.Scheme(), Logger: logr.Discard(),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
	})
	if err != nil {
		return fmt.Errorf("playing in cluster %s: %w", c.Name, err)
	}
	for _, add := range players {
		if err := add(mgr, c); err != nil {
			return fmt.Errorf("playing in cluster %s: %w", c.Name, err)
		}
	}
	s.group.Go(func() {
		if err := mgr.Start(ctx); err != nil {
			s.played.note(fmt.Errorf("playing in cluster %s: %w", c.Name, err))
		}
	})
	return nil
}

// act is what a player does about an object. It gets its own copy.
type act[T client.Object] func(context.Context, T) error

// Reconcile implements reconcile.ObjectReconciler.
func (a act[T]) Reconcile(ctx context.Context, object T) (reconcile.Result, error) {
	return reconcile.Result{}, settled(a(ctx, object))
}

// follow adds a player that handles each object of a kind whenever it changes.
func follow[T client.Object](mgr ctrl.Manager, name string, object T, do act[T]) error {
	return ctrl.NewControllerManagedBy(mgr).Named(name).For(object).WithOptions(options()).
		Complete(reconcile.AsReconciler(mgr.GetClient(), do))
}

// options returns the options of every player. Each player exists once in each cluster.
func options() controller.Options {
	return controller.Options{MaxConcurrentReconciles: atATime, SkipNameValidation: ptr.To(true)}
}

// settled drops conflicts and NotFound: the watch shows what to do next.
func settled(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// failures collects errors from the background.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}
