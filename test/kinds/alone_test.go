package kinds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/requests"
)

// killedAfterEachWrite: the manager is killed after each write about the object, from its creation to its
// deletion. Each time, a fresh manager brings the object to the same end.
func killedAfterEachWrite(ctx context.Context, s *stage) error {
	points, err := s.life(ctx, nil)
	if err != nil {
		return err
	}
	written := map[string]bool{}
	for _, point := range points {
		written[point.Verb+" in "+point.Cluster] = true
	}
	for _, needed := range []string{requests.Create + " in " + world.P1, requests.Delete + " in " + world.P1} {
		if !written[needed] {
			return fmt.Errorf("nobody has seen the %s: %v", needed, points)
		}
	}
	for _, point := range points {
		if _, err := s.life(ctx, recipe.Recipe{{At: point, Kind: recipe.CrashAfterCommit}}); err != nil {
			return fmt.Errorf("after %s: %w", point, err)
		}
	}
	return nil
}

// life takes one object through its whole life, with a crash. It returns the writes about the object.
func (s *stage) life(ctx context.Context, crash recipe.Recipe) ([]recipe.Point, error) {
	_, _, before := s.current()
	s.injector.Arm(crash)
	u, remote, err := s.createSent(ctx, team, "killed")
	if err != nil {
		return nil, err
	}
	if err := u.reportAlone(ctx, remote); err != nil {
		return nil, err
	}
	if err := u.remove(ctx); err != nil {
		return nil, err
	}
	fired := len(s.injector.Fired())
	if err := s.followed(ctx, before+fired, s.patience); err != nil {
		return nil, err
	}
	if len(crash) > 0 && fired == 0 && crash[0].At.Verb != requests.Patch {
		return nil, errors.New("the manager did not come to it")
	}
	resource := fleet.ResourceOf(u.Object)
	return slices.DeleteFunc(s.injector.Points(), func(p recipe.Point) bool {
		name := u.key
		if p.Cluster != world.Consumer {
			name = client.ObjectKeyFromObject(remote)
		}
		return p.Resource != resource || p.Namespace != name.Namespace || p.Name != name.Name
	}), nil
}

// restarted: a fresh manager finds nothing to do.
func restarted(ctx context.Context, s *stage) error {
	u, remote, err := s.createSent(ctx, team, "restarted")
	if err != nil {
		return err
	}
	if err := u.reportAlone(ctx, remote); err != nil {
		return err
	}
	if err := s.passed(ctx, team, "before"); err != nil {
		return err
	}
	if err := s.rests(ctx); err != nil {
		return err
	}
	s.injector.Arm(nil)
	if err := s.replace(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	const after = "after"
	if err := s.passed(ctx, team, after); err != nil {
		return err
	}
	// Objects that a fresh manager finds have a lower priority than objects that are created while it runs.
	// So the manager may handle them later.
	if err := s.rests(ctx); err != nil {
		return err
	}
	resources := []string{fleet.ResourceOf(s.kind.New())}
	for _, kind := range controllers.Kinds() {
		resources = append(resources, fleet.ResourceOf(kind.New()))
	}
	var errs []error
	for _, point := range s.injector.Points() {
		if slices.Contains(resources, point.Resource) && !strings.HasPrefix(point.Name, after) {
			errs = append(errs, fmt.Errorf("all was done, and yet a fresh manager has written: %s", point))
		}
	}
	return errors.Join(errs...)
}

// calm is the time without any write after which the manager is at rest.
const calm = 2 * time.Second

// rests waits until the manager has nothing left to write.
func (s *stage) rests(ctx context.Context) error {
	return s.eventually(ctx, "the manager to rest", func(context.Context) error {
		if since := time.Since(s.injector.LastWrite()); since < calm {
			return fmt.Errorf("something was written %s ago", since.Round(time.Millisecond))
		}
		return nil
	})
}

// unOffloaded: everything in the provider is deleted, and the local object is as it was.
func unOffloaded(ctx context.Context, s *stage) error {
	u, remote, err := s.createSent(ctx, team, "left")
	if err != nil {
		return err
	}
	if err := u.reportAlone(ctx, remote); err != nil {
		return err
	}
	offloading := &v1alpha1.NamespaceOffloading{}
	offloading.Namespace, offloading.Name = team, v1alpha1.OffloadingName
	if err := s.here().Delete(ctx, offloading); err != nil {
		return err
	}
	return s.eventually(ctx, "the offloading to be over", func(ctx context.Context) error {
		return errors.Join(s.nothingOf(ctx, team), u.unmarked(ctx), isGone(ctx, s.here(), offloading))
	})
}

// nothingOf returns an error if the provider has an object of a namespace, or any object if namespace is "".
func (s *stage) nothingOf(ctx context.Context, namespace string) error {
	remotes, err := s.remotes(ctx)
	for _, remote := range remotes {
		if namespace == "" || remote.GetNamespace() == s.Remote(namespace) {
			return fmt.Errorf("in the provider there is %s", brief(remote))
		}
	}
	return err
}

// drained: after the binding is deleted, nothing is left in the provider, and the local object is as it was.
func drained(ctx context.Context, s *stage) error {
	u, remote, err := s.createSent(ctx, other, "drained")
	if err != nil {
		return err
	}
	if err := u.reportAlone(ctx, remote); err != nil {
		return err
	}
	binding := &v1alpha1.ClusterBinding{}
	binding.Name = world.P1
	if err := s.here().Delete(ctx, binding); err != nil {
		return err
	}
	return s.eventually(ctx, "the binding to be drained", func(ctx context.Context) error {
		return errors.Join(s.nothingOf(ctx, ""), u.unmarked(ctx), isGone(ctx, s.here(), binding))
	})
}

func isGone(ctx context.Context, c client.Client, object client.Object) error {
	is := object.DeepCopyObject().(client.Object)
	err := c.Get(ctx, client.ObjectKeyFromObject(object), is)
	if err == nil {
		return fmt.Errorf("%T %s is there: %s", object, object.GetName(), brief(is))
	}
	return client.IgnoreNotFound(err)
}
