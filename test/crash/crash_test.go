package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	consumerID = "crash"
	// count is how many namespaces are offloaded.
	count = 200
	// unbound is how many are when a binding is deleted.
	unbound = 40
	// patience is for one step, on a machine that may be busy with other things.
	patience = 3 * time.Minute
)

var providers = []string{"p1", "p2"}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run is TestMain with deferred calls that are run.
func run(m *testing.M) int {
	clusters.RequireBinaries()
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "spillway-crash-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	clusters.AwaitTurn()
	return m.Run()
}

// crash is the state that the steps of the test share.
type crash struct {
	*rig.Rig
	ledger     *ledger
	kubeconfig string
	// t outlives the steps, as the manager does from one to the next.
	t       *testing.T
	manager *process
	// locals are the UIDs of the local namespaces, by name.
	locals map[string]string
	// foreign are the namespaces that are not Spillway's, as they were.
	foreign map[string][]corev1.Namespace
}

// TestKilled takes one set of clusters through a life. Each step builds on the
// one before.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes minutes")
	}
	c := up(t)
	total := count * len(c.Providers)
	c.start()
	c.eventually(t, "the bindings to be Ready", c.Bound)

	c.step(t, "offloading", func(t *testing.T) {
		created := c.ledger.sum(made)
		go func() { // At once, so that the manager has all of it before it.
			if err := rig.CreateAll(t.Context(), c.Consumer.Admin, count, rig.Offloading); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}()
		for _, percent := range []int{20, 50, 80} {
			c.killWhen(t, created, total*percent/100)
			if n := c.count(t); n == 0 || n >= total {
				t.Errorf("killed with %d of %d remote namespaces made, which is not in the middle", n, total)
			} else {
				t.Logf("killed with %d of %d remote namespaces made", n, total)
			}
			c.start()
		}
		c.eventually(t, "all to be Ready", c.offloadings(count, len(c.Providers)))
		c.check(t, count, c.Providers...)
		if n := c.ledger.get(created); n != total {
			t.Errorf("%d remote namespaces have been made, want each of %d once", n, total)
		}
		if n := c.ledger.get(c.ledger.sum(going)); n != 0 {
			t.Errorf("%d remote namespaces were deleted on the way", n)
		}
	})

	c.step(t, "restart", func(t *testing.T) {
		c.settled(t, time.Now())
		before := c.versions(t)
		c.manager.kill(t)
		began := time.Now()
		c.start()
		c.settled(t, began)
		if diff := cmp.Diff(before, c.versions(t)); diff != "" {
			t.Errorf("a restart with nothing to do changed (-before +after):\n%s", diff)
		}
	})

	c.step(t, "deleting", func(t *testing.T) {
		begun, ended := c.ledger.sum(going), c.ledger.sum(gone)
		go func() {
			if err := rig.DeleteAll(t.Context(), c.Consumer.Admin, count, rig.Offloading); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}()
		for _, at := range []struct {
			count func() int
			many  int
		}{{begun, total / 5}, {begun, total * 3 / 5}, {ended, total / 2}} {
			c.killWhen(t, at.count, at.many)
			if n := c.count(t); n == 0 {
				t.Error("killed when all remote namespaces were gone, which is not in the middle")
			} else {
				t.Logf("killed with the deletion of %d remote namespaces begun, and %d of %d left", c.ledger.get(begun), n, total)
			}
			c.start()
		}
		c.eventually(t, "all to be gone", c.offloadings(0, 0))
		c.check(t, 0, c.Providers...)
		c.eventually(t, "the maps to be empty", c.emptyMaps)
	})

	c.step(t, "unbinding", func(t *testing.T) {
		staying, leaving := c.Providers[0], c.Providers[1]
		c.create(t, unbound, rig.Offloading)
		c.eventually(t, "all to be Ready", c.offloadings(unbound, len(c.Providers)))
		before := c.marked(t, staying)
		page := func(of func(*page) int) func() int { return func() int { return of(c.ledger.pages[leaving.ID]) } }

		binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: leaving.ID}}
		if err := c.Consumer.Admin.Delete(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		for _, at := range []struct {
			count func() int
			many  int
		}{{page(going), unbound / 4}, {page(gone), unbound / 2}} {
			c.killWhen(t, at.count, at.many)
			t.Logf("killed with %d of %d remote namespaces left", len(c.marked(t, leaving)), unbound)
			c.start()
		}
		c.eventually(t, "everything of the binding to be gone", func(ctx context.Context) error { return c.unbound(ctx, leaving) })
		c.eventually(t, "all to be Ready without it", c.offloadings(unbound, 1))
		c.check(t, 0, leaving)
		if diff := cmp.Diff(before, c.marked(t, staying)); diff != "" {
			t.Errorf("unbinding %s changed namespaces in %s (-before +after):\n%s", leaving.ID, staying.ID, diff)
		}
	})
	c.untouched(t)
}

// step runs one part of the life; the next one makes no sense if it fails.
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

func up(t *testing.T) *crash {
	r, err := rig.Up(t.Context(), rig.Options{Name: "crash", Providers: providers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c := &crash{Rig: r, t: t, locals: map[string]string{}, foreign: map[string][]corev1.Namespace{}, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	kubeconfig, err := r.ManagerKubeconfig(t.Context())
	if err == nil {
		err = os.WriteFile(c.kubeconfig, kubeconfig, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.create(t, count, rig.Namespace)
	var locals corev1.NamespaceList
	if err := r.Consumer.Admin.List(t.Context(), &locals); err != nil {
		t.Fatal(err)
	}
	for i := range locals.Items {
		c.locals[locals.Items[i].Name] = string(locals.Items[i].UID)
	}
	c.makeForeign(t)
	if c.ledger, err = watch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := r.Bind(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// makeForeign makes namespaces that are, by more or less, not Spillway's, and
// remembers all that there are.
func (c *crash) makeForeign(t *testing.T) {
	origin, err := c.Origin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range c.Providers {
		for name, labels := range map[string]map[string]string{
			"plain":         nil,
			"other-origin":  provenance.Mark{Origin: "somebody-else", ClusterID: provider.ID}.Labels(),
			"other-binding": provenance.Mark{Origin: origin, ClusterID: "elsewhere"}.Labels(),
		} {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: labels, Annotations: provenance.NamespaceAnnotations(rig.Namespace(0).GetName(), "another"),
			}}
			if err := provider.Admin.Create(t.Context(), namespace); err != nil {
				t.Fatal(err)
			}
		}
		c.foreign[provider.ID] = c.namespaces(t, provider)
	}
}

func (c *crash) namespaces(t *testing.T, provider *rig.Cluster) []corev1.Namespace {
	t.Helper()
	var list corev1.NamespaceList
	if err := provider.Admin.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (c *crash) create(t *testing.T, n int, object func(int) client.Object) {
	t.Helper()
	if err := rig.CreateAll(t.Context(), c.Consumer.Admin, n, object); err != nil {
		t.Fatal(err)
	}
}

func (c *crash) eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := rig.Eventually(t.Context(), patience, try); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func (c *crash) start() { c.manager = start(c.t, c.kubeconfig) }

// killWhen kills the manager once so many namespaces are counted.
func (c *crash) killWhen(t *testing.T, counted func() int, atLeast int) {
	t.Helper()
	select {
	case <-c.ledger.when(counted, atLeast):
		c.manager.kill(t)
	case <-time.After(patience):
		t.Fatalf("waiting for the moment to kill the manager: gave up after %s with %d namespaces of %d", patience, c.ledger.get(counted), atLeast)
	}
}

func (c *crash) settled(t *testing.T, since time.Time) {
	t.Helper()
	if err := c.Settled(t.Context(), since, patience); err != nil {
		t.Fatal(err)
	}
}

func (c *crash) versions(t *testing.T) map[string]string {
	t.Helper()
	versions, err := c.Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// marked are the namespaces of a provider with our mark, as they are.
func (c *crash) marked(t *testing.T, provider *rig.Cluster) []corev1.Namespace {
	t.Helper()
	namespaces, err := c.Marked(t.Context(), provider)
	if err != nil {
		t.Fatal(err)
	}
	return namespaces
}

func (c *crash) count(t *testing.T) int {
	t.Helper()
	total := 0
	for _, provider := range c.Providers {
		total += len(c.marked(t, provider))
	}
	return total
}

// offloadings says whether there are n, all of them Ready in so many providers.
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
			return fmt.Errorf("NamespaceMap %s is not empty, or not looked at: %+v", nsm.Name, nsm.Status)
		}
	}
	return nil
}

// unbound says what is left in the consumer of a provider that was bound.
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

// check compares all namespaces of providers with what is to be there: what was
// there before, and one for each of the first n local namespaces.
func (c *crash) check(t *testing.T, n int, of ...*rig.Cluster) {
	t.Helper()
	origin, err := c.Origin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type remote struct{ Local, LocalUID, Origin, Binding string }
	for _, provider := range of {
		want, got := map[string]remote{}, map[string]remote{}
		for _, namespace := range c.foreign[provider.ID] {
			want[namespace.Name] = remote{}
		}
		for i := range n {
			local := rig.Namespace(i).GetName()
			want[local+"-"+consumerID] = remote{local, c.locals[local], origin, provider.ID}
		}
		for _, namespace := range c.namespaces(t, provider) {
			if c.isForeign(provider, namespace.Name) {
				got[namespace.Name] = remote{} // See untouched.
				continue
			}
			local := provenance.LocalOf(&namespace)
			got[namespace.Name] = remote{local.Namespace, string(local.UID), namespace.Labels[v1alpha1.LabelOrigin], namespace.Labels[v1alpha1.LabelBinding]}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("namespaces of provider %s (-want +got):\n%s", provider.ID, diff)
		}
	}
}

func (c *crash) isForeign(provider *rig.Cluster, name string) bool {
	for i := range c.foreign[provider.ID] {
		if c.foreign[provider.ID][i].Name == name {
			return true
		}
	}
	return false
}

// untouched checks that nothing has happened to what is not Spillway's.
func (c *crash) untouched(t *testing.T) {
	for _, violation := range c.ledger.wrong() {
		t.Error(violation)
	}
	for _, provider := range c.Providers {
		is := map[string]corev1.Namespace{}
		for _, namespace := range c.namespaces(t, provider) {
			is[namespace.Name] = namespace
		}
		for _, was := range c.foreign[provider.ID] {
			if diff := cmp.Diff(was, is[was.Name]); diff != "" {
				t.Errorf("namespace %s of provider %s, which is not Spillway's (-before +after):\n%s", was.Name, provider.ID, diff)
			}
		}
	}
}
