package crash

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	consumerID = "crash"
	// patience is the longest wait for one step, on a machine that may be busy with other work.
	patience = 3 * time.Minute
)

var providers = []string{"p1", "p2"}

// crash is the state that the steps of the test share.
type crash struct {
	*rig.Rig
	ledger     *ledger
	kubeconfig string
	// t outlives the steps, because the manager also runs from one step to the next.
	t       *testing.T
	manager *process
	// locals are the UIDs of the local namespaces, by name.
	locals map[string]string
	// foreign are the namespaces that are not Spillway's, in their original state.
	foreign map[string][]corev1.Namespace
}

func up(t *testing.T) *crash {
	r := rigUp(t, rig.Options{Name: "crash", Providers: providers})
	c := &crash{Rig: r, t: t, locals: map[string]string{}, foreign: map[string][]corev1.Namespace{}}
	c.kubeconfig = writeKubeconfig(t, r)
	c.makeLocals(t)
	c.makeForeign(t)
	var err error
	if c.ledger, err = watch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := r.Bind(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// rigUp starts the clusters of a test, which end with it.
func rigUp(t *testing.T, o rig.Options) *rig.Rig {
	r, err := rig.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// writeKubeconfig writes the kubeconfig of the manager.
func writeKubeconfig(t *testing.T, r *rig.Rig) string {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	kubeconfig, err := r.ManagerKubeconfig(t.Context())
	if err == nil {
		err = os.WriteFile(file, kubeconfig, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// makeLocals creates the namespaces to be offloaded.
func (c *crash) makeLocals(t *testing.T) {
	c.create(t, count, rig.Namespace)
	var locals corev1.NamespaceList
	if err := c.Consumer.Admin.List(t.Context(), &locals); err != nil {
		t.Fatal(err)
	}
	for i := range locals.Items {
		c.locals[locals.Items[i].Name] = string(locals.Items[i].UID)
	}
}

// makeForeign creates namespaces that are not Spillway's, though some have nearly the same labels. It
// remembers all namespaces that exist.
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

func (c *crash) create(t *testing.T, n int, object func(int) client.Object) {
	t.Helper()
	if err := rig.CreateAll(t.Context(), c.Consumer.Admin, n, object); err != nil {
		t.Fatal(err)
	}
}

// total is the number of remote namespaces of all local ones.
func (c *crash) total() int { return count * len(c.Providers) }
