package hostile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	consumerID = "hostile"
	good, bad  = "good", "bad"
	// patience is the longest wait, on a machine that may be busy with other work.
	patience = 3 * time.Minute
	// syncTimeout is the time that a connection may take to fill its caches. The manager that is shipped
	// allows a minute, and an attack lasts that long.
	syncTimeout = 15 * time.Second
	// budget is the first budget of the hostile provider, in MiB. Each new connection adds one MiB, because a
	// changed budget makes the manager connect again at once.
	budget = 32
)

func TestMain(m *testing.M) {
	clusters.RequireBinaries()
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// setup is the state that all attacks share.
type setup struct {
	*rig.Rig
	front   *front
	counter *requests.Counter
	budget  int64  // In MiB.
	stop    func() // Ends the manager.
}

// up starts the clusters and a manager, with a namespace that is offloaded to both providers.
func up(t *testing.T) *setup {
	r, err := rig.Up(t.Context(), rig.Options{Name: "hostile", Providers: []string{good, bad}})
	must(t, err)
	t.Cleanup(func() { must(t, r.Down(context.Background())) })
	s := &setup{Rig: r, front: newFront(t, r.Providers[1].Config()), counter: requests.NewCounter(), budget: budget}
	s.counter.Keep()
	must(t, s.Bind(t.Context()))
	s.lead(t)
	s.connectAnew(t)
	s.start(t)
	s.eventually(t, "the bindings to be Ready", s.Bound)
	must(t, s.Consumer.Admin.Create(t.Context(), rig.Namespace(0)))
	must(t, s.Consumer.Admin.Create(t.Context(), rig.Offloading(0)))
	s.eventually(t, "the namespace to be offloaded", func(ctx context.Context) error {
		return s.inPhase(ctx, rig.Offloading(0), v1alpha1.OffloadingPhaseReady)
	})
	return s
}

// inPhase returns an error unless an offloading is in this phase.
func (s *setup) inPhase(ctx context.Context, offloading client.Object, phase v1alpha1.OffloadingPhase) error {
	nso := &v1alpha1.NamespaceOffloading{}
	if err := s.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(offloading), nso); err != nil {
		return err
	}
	if nso.Status.OffloadingPhase != phase {
		return fmt.Errorf("it is %q", nso.Status.OffloadingPhase)
	}
	return nil
}

// lead changes the kubeconfig of the hostile provider so that it leads to the front.
func (s *setup) lead(t *testing.T) {
	secret := &corev1.Secret{}
	must(t, s.Consumer.Admin.Get(t.Context(), client.ObjectKey{Namespace: manager.DefaultNamespace, Name: bad}, secret))
	secret.Data[v1alpha1.DefaultKubeconfigKey] = s.front.kubeconfig(t, secret.Data[v1alpha1.DefaultKubeconfigKey])
	must(t, s.Consumer.Admin.Update(t.Context(), secret))
}

// connectAnew ends the connection to the hostile provider, and begins a new one. The new one does not wait,
// even if the manager would have waited after the last one.
func (s *setup) connectAnew(t *testing.T) {
	t.Helper()
	s.budget++
	binding := s.binding(t, bad)
	before := binding.DeepCopy()
	binding.Spec.Budget.Memory = resource.NewQuantity(s.budget<<20, resource.BinarySI)
	must(t, s.Consumer.Admin.Patch(t.Context(), binding, client.MergeFrom(before)))
}

func (s *setup) binding(t *testing.T, name string) *v1alpha1.ClusterBinding {
	t.Helper()
	binding := &v1alpha1.ClusterBinding{}
	must(t, s.Consumer.Admin.Get(t.Context(), client.ObjectKey{Name: name}, binding))
	return binding
}

// connected returns the reason and the message of the condition Connected of the hostile provider.
func (s *setup) connected(ctx context.Context) (reason, message string, err error) {
	binding := &v1alpha1.ClusterBinding{}
	if err := s.Consumer.Admin.Get(ctx, client.ObjectKey{Name: bad}, binding); err != nil {
		return "", "", err
	}
	condition := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingConnected)
	if condition == nil {
		return "", "", errors.New("nothing is said of the connection")
	}
	return condition.Reason, condition.Message, nil
}

// start starts a manager in this process. It is as shipped, except for one time-out.
func (s *setup) start(t *testing.T) {
	kubeconfig, err := s.ManagerKubeconfig(t.Context())
	must(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	must(t, err)
	options := manager.Options{
		ConsumerID: consumerID, SkipMetrics: true,
		WrapTransport: func(next http.RoundTripper) http.RoundTripper { return s.counter.WrapNamed(s.Consumer.ID, next) },
		Fleet:         fleet.Options{WrapTransport: s.counter.WrapNamed, SyncTimeout: syncTimeout},
	}
	options.Manager.Metrics = metricsserver.Options{BindAddress: "0"}
	options.Manager.HealthProbeBindAddress = "0"
	options.Manager.Controller.SkipNameValidation = ptr.To(true)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	mgr, err := manager.New(ctx, config, options)
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		must(t, <-ended)
	})
	t.Cleanup(s.stop)
}

func (s *setup) eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := rig.Eventually(t.Context(), patience, try); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
