package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	consumerID = "writes"
	// patience is the longest wait, on a machine that may be busy with other work.
	patience = 3 * time.Minute
)

var providers = []string{"p1", "p2"}

// setup is the state that all parts of the test share.
type setup struct {
	*rig.Rig
	manager *rig.Manager
	// counter is the counter of the manager that runs.
	counter *requests.Counter
}

// up starts the clusters and a manager. It creates a namespace for each life, and one for the pods of the
// restart, and offloads all of them to both providers.
func up(t *testing.T) *setup {
	r, err := rig.Up(t.Context(), rig.Options{Name: "writes", Providers: providers})
	must(t, err)
	t.Cleanup(func() { must(t, r.Down(context.Background())) })
	s := &setup{Rig: r}
	must(t, s.Bind(t.Context()))
	s.start(t)
	s.eventually(t, "the bindings to be Ready", s.Bound)
	namespaces := len(lives) + 1
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, namespaces, rig.Namespace))
	must(t, rig.CreateAll(t.Context(), s.Consumer.Admin, namespaces, offloading))
	s.eventually(t, "the namespaces to be offloaded", s.offloaded)
	s.settled(t, time.Now()) // The requests that follow the start and the offloading do not count.
	return s
}

// offloading is the offloading of rig.Namespace(i), which sends all kinds.
func offloading(i int) client.Object {
	return &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace(i).GetName(), Name: v1alpha1.OffloadingName},
		Spec:       v1alpha1.NamespaceOffloadingSpec{Resources: append(slices.Clone(v1alpha1.DefaultResources), v1alpha1.OffloadedPodDisruptionBudgets)},
	}
}

// start starts a manager, with a counter that has counted nothing.
func (s *setup) start(t *testing.T) {
	t.Helper()
	s.counter = requests.NewCounter()
	s.counter.Keep()
	var err error
	s.manager, err = s.StartManager(context.WithoutCancel(t.Context()), consumerID, s.counter)
	must(t, err)
	t.Cleanup(func() { must(t, s.manager.Stop()) })
}

func (s *setup) offloaded(ctx context.Context) error {
	var list v1alpha1.NamespaceOffloadingList
	if err := s.Consumer.Admin.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		if phase := list.Items[i].Status.OffloadingPhase; phase != v1alpha1.OffloadingPhaseReady {
			return fmt.Errorf("the offloading of %s is %q", list.Items[i].Namespace, phase)
		}
	}
	return nil
}

func (s *setup) eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := rig.Eventually(t.Context(), patience, try); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// settled waits until the manager has written everything that follows from the events so far.
func (s *setup) settled(t *testing.T, since time.Time) {
	t.Helper()
	must(t, s.Settled(t.Context(), since, patience))
}

// requests returns the requests about users' objects. It leaves out leases, probes of the providers' identity
// and the renewal of watches, which go on as time goes by.
func (s *setup) requests() []requests.Request {
	return s.counter.Log(func(k requests.Key) bool {
		return k.Verb != requests.Watch && (k.Class == requests.Work || k.Class == requests.Events)
	})
}

// remoteNamespace is the namespace of the remote pods of rig.Namespace(i).
func remoteNamespace(i int) string { return rig.Namespace(i).GetName() + "-" + consumerID }

// gone returns an error if an object exists.
func gone(ctx context.Context, c client.Client, object client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil {
		return fmt.Errorf("%T %s is there", object, client.ObjectKeyFromObject(object))
	}
	return client.IgnoreNotFound(err)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
