package crash

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	// count is the number of namespaces that are offloaded.
	count = 200
	// unbound is the number that are offloaded when a binding is deleted.
	unbound = 40
)

// TestKilled takes one set of clusters through all steps. Each step builds on the one before.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	c := up(t)
	c.start()
	c.eventually(t, "the bindings to be Ready", c.Bound)

	c.step(t, "offloading", c.killedWhileOffloading)
	c.step(t, "restart", c.killedWithNothingToDo)
	c.step(t, "deleting", c.killedWhileDeleting)
	c.step(t, "unbinding", c.killedWhileUnbinding)
	c.untouched(t)
}

// step runs one step. If it fails, the test ends, because the next step would make no sense.
func (c *crash) step(t *testing.T, name string, do func(*testing.T)) {
	t.Helper()
	began := time.Now()
	t.Run(name, do)
	c.ledger.close()
	t.Logf("%s: %.1fs", name, time.Since(began).Seconds())
	if t.Failed() {
		t.FailNow()
	}
}

func (c *crash) killedWhileOffloading(t *testing.T) {
	created, total := c.ledger.sum(made), c.total()
	// All at once, so that the manager has all of the work to do.
	creating := meanwhile(func() error {
		return rig.CreateAll(t.Context(), c.Consumer.Admin, count, rig.Offloading)
	})
	// The last kill is early enough to leave some work when the signal arrives, even if the machine delivers
	// it late.
	for _, percent := range []int{15, 35, 55} {
		c.killAt(t, moment{created, total * percent / 100})
		if n := c.marks(t); n == 0 || n >= total {
			t.Errorf("killed with %d of %d remote namespaces made, which is not in the middle", n, total)
		} else {
			t.Logf("killed with %d of %d remote namespaces made", n, total)
		}
		c.start()
	}
	c.eventually(t, "all to be Ready", c.offloadings(count, len(c.Providers)))
	awaitEnd(t, creating)
	c.check(t, count, c.Providers...)
	if n := c.ledger.get(created); n != total {
		t.Errorf("%d remote namespaces have been made, want each of %d once", n, total)
	}
	if n := c.ledger.get(c.ledger.sum(going)); n != 0 {
		t.Errorf("%d remote namespaces were deleted on the way", n)
	}
}

func (c *crash) killedWithNothingToDo(t *testing.T) {
	before := c.quiet(t)
	c.manager.kill(t)
	began := time.Now()
	c.start()
	c.settled(t, began)
	if diff := cmp.Diff(before, c.versions(t)); diff != "" {
		t.Errorf("a restart with nothing to do changed (-before +after):\n%s", diff)
	}
}

func (c *crash) killedWhileDeleting(t *testing.T) {
	begun, ended, total := c.ledger.sum(going), c.ledger.sum(gone), c.total()
	deleting := meanwhile(func() error {
		return rig.DeleteAll(t.Context(), c.Consumer.Admin, count, rig.Offloading)
	})
	for _, at := range []moment{{begun, total / 5}, {begun, total * 2 / 5}, {ended, total / 2}} {
		c.killAt(t, at)
		if n := c.marks(t); n == 0 {
			t.Error("killed when all remote namespaces were gone, which is not in the middle")
		} else {
			t.Logf("killed with the deletion of %d remote namespaces begun, and %d of %d left", c.ledger.get(begun), n, total)
		}
		c.start()
	}
	c.eventually(t, "all to be gone", c.offloadings(0, 0))
	awaitEnd(t, deleting)
	c.check(t, 0, c.Providers...)
	c.eventually(t, "the maps to be empty", c.emptyMaps)
}

func (c *crash) killedWhileUnbinding(t *testing.T) {
	staying, leaving := c.Providers[0], c.Providers[1]
	c.create(t, unbound, rig.Offloading)
	c.eventually(t, "all to be Ready", c.offloadings(unbound, len(c.Providers)))
	before := c.marked(t, staying)

	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: leaving.ID}}
	if err := c.Consumer.Admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	of := func(figure func(*page) int) func() int {
		return func() int { return figure(c.ledger.pages[leaving.ID]) }
	}
	for _, at := range []moment{{of(going), unbound / 4}, {of(gone), unbound / 2}} {
		c.killAt(t, at)
		t.Logf("killed with %d of %d remote namespaces left", len(c.marked(t, leaving)), unbound)
		c.start()
	}
	c.eventually(t, "everything of the binding to be gone", func(ctx context.Context) error { return c.unbound(ctx, leaving) })
	c.eventually(t, "all to be Ready without it", c.offloadings(unbound, 1))
	c.check(t, 0, leaving)
	if diff := cmp.Diff(before, c.marked(t, staying)); diff != "" {
		t.Errorf("unbinding %s changed namespaces in %s (-before +after):\n%s", leaving.ID, staying.ID, diff)
	}
}
