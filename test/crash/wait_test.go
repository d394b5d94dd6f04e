package crash

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
)

func (c *crash) eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := rig.Eventually(t.Context(), patience, try); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (c *crash) settled(t *testing.T, since time.Time) {
	t.Helper()
	if err := c.Settled(t.Context(), since, patience); err != nil {
		t.Fatal(err)
	}
}

// quiet waits until the manager has nothing left to write, and returns the versions of all objects. The
// versions must stay the same for two renewals of the leases, which are five seconds apart.
func (c *crash) quiet(t *testing.T) map[string]string {
	t.Helper()
	var versions map[string]string
	c.eventually(t, "the manager to be done", func(ctx context.Context) error {
		var err error
		if versions, err = c.Versions(ctx); err != nil {
			return err
		}
		if err := c.Settled(ctx, time.Now(), patience); err != nil {
			return err
		}
		after, err := c.Versions(ctx)
		if diff := cmp.Diff(versions, after); err == nil && diff != "" {
			return fmt.Errorf("it still writes (-before +after):\n%s", diff)
		}
		return err
	})
	return versions
}

// offloadings returns a check that there are n offloadings, all of them Ready in the given number of
// providers.
func (c *crash) offloadings(n, ready int) func(context.Context) error {
	return func(ctx context.Context) error {
		var list v1alpha1.NamespaceOffloadingList
		if err := c.Consumer.Admin.List(ctx, &list); err != nil {
			return err
		}
		if len(list.Items) != n {
			return fmt.Errorf("%d NamespaceOffloadings exist, want %d", len(list.Items), n)
		}
		for i := range list.Items {
			status := &list.Items[i].Status
			if status.OffloadingPhase != v1alpha1.OffloadingPhaseReady || len(status.RemoteNamespaceConditions) != ready {
				return fmt.Errorf("that of %s is not Ready in %d providers: %+v", list.Items[i].Namespace, ready, *status)
			}
		}
		return nil
	}
}

func (c *crash) emptyMaps(ctx context.Context) error {
	var maps v1alpha1.NamespaceMapList
	if err := c.Consumer.Admin.List(ctx, &maps); err != nil {
		return err
	}
	for _, nsm := range maps.Items {
		if len(nsm.Spec.DesiredMapping)+len(nsm.Status.CurrentMapping) > 0 || nsm.Status.ObservedGeneration != nsm.Generation {
			return fmt.Errorf("NamespaceMap %s is not empty, or not checked: %+v", nsm.Name, nsm.Status)
		}
	}
	return nil
}

// unbound returns an error if the consumer still has objects of a provider that was bound.
func (c *crash) unbound(ctx context.Context, provider *rig.Cluster) error {
	node := v1alpha1.VirtualNodePrefix + provider.ID
	var errs []error
	for key, object := range map[client.ObjectKey]client.Object{
		{Name: provider.ID}: &v1alpha1.ClusterBinding{},
		{Name: node}:        &corev1.Node{},
		{Name: node, Namespace: corev1.NamespaceNodeLease}: &coordinationv1.Lease{},
	} {
		errs = append(errs, c.isGone(ctx, key, object))
	}
	return errors.Join(append(errs, c.isGone(ctx, client.ObjectKey{Name: provider.ID}, &v1alpha1.NamespaceMap{}))...)
}

func (c *crash) isGone(ctx context.Context, key client.ObjectKey, object client.Object) error {
	err := c.Consumer.Admin.Get(ctx, key, object)
	if err == nil {
		return fmt.Errorf("%T %s exists", object, key)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// meanwhile starts do, and the test goes on.
func meanwhile(do func() error) <-chan error {
	done := make(chan error, 1) // When the test has failed, nobody waits for it.
	go func() { done <- do() }()
	return done
}

// awaitEnd waits until do has ended.
func awaitEnd(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Errorf("what the test does meanwhile has not ended after %s", patience)
	}
}
