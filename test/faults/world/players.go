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

// atATime is how many objects of a kind a player looks after at a time: those of
// one lane do not wait for those of another.
const atATime = 8

// play starts players in a cluster. What they cannot do is an error of Down.
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

// act is what a player does about an object, of which it has a copy of its own.
type act[T client.Object] func(context.Context, T) error

// Reconcile makes a reconcile.ObjectReconciler of it.
func (a act[T]) Reconcile(ctx context.Context, object T) (reconcile.Result, error) {
	return reconcile.Result{}, settled(a(ctx, object))
}

// follow adds a player that looks at each object of a kind whenever it changes.
func follow[T client.Object](mgr ctrl.Manager, name string, object T, do act[T]) error {
	return ctrl.NewControllerManagedBy(mgr).Named(name).For(object).WithOptions(options()).
		Complete(reconcile.AsReconciler(mgr.GetClient(), do))
}

// options are those of every player. Each is there once in each cluster.
func options() controller.Options {
	return controller.Options{MaxConcurrentReconciles: atATime, SkipNameValidation: ptr.To(true)}
}

// settled takes away the errors that an object has changed, or is gone: the
// watch shows what there is to be done now.
func settled(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// failures collects what goes wrong in the background.
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
