package admission

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/podadmission"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/manifests"
	"github.com/spillway-io/spillway/test/webhook"
)

// managed is a consumer whose pods the webhook prepares. The manager that serves it runs in this process,
// with the rights of the shipped account.
type managed struct {
	*apiServer
	port int
	// mount is where a kubelet would mount the Secret with the certificate.
	mount string
	stop  func() error
	// requests counts the manager's requests by namespace.
	requests sync.Map
}

// webhooked returns the spare API server, with config/webhook and a manager. On a release without the policy,
// it returns the API server of all tests.
func webhooked(t *testing.T) *managed {
	t.Helper()
	if older() {
		server(t)
		return theManaged
	}
	s := spare(t)
	if theManaged == nil {
		var err error
		if theManaged, err = installWebhook(context.Background(), s); err != nil { // It outlives the first test.
			t.Fatal(err)
		}
	}
	return theManaged
}

var theManaged *managed

// installWebhook applies what is shipped for a consumer without the policy, and starts the manager. The
// Service leads to this process.
func installWebhook(ctx context.Context, s *apiServer) (*managed, error) {
	shipped, err := manifests.Kustomized(ctx, "config/webhook")
	if err != nil {
		return nil, err
	}
	m := &managed{apiServer: s, stop: func() error { return nil }}
	atEnd = append(atEnd, func() error { return errors.Join(m.stop(), os.RemoveAll(m.mount)) })
	if m.port, err = freePort(); err != nil {
		return nil, err
	}
	if m.mount, err = os.MkdirTemp("", "mount-"); err != nil {
		return nil, err
	}
	shipped = manifests.Without(shipped, "Deployment")
	for _, object := range shipped {
		webhook.Redirect(object, m.port)
	}
	if err := manifests.Create(ctx, s, shipped); err != nil {
		return nil, err
	}
	if err := errors.Join(untilManagerIsConfined(ctx, s), m.mountSecret(ctx)); err != nil {
		return nil, err
	}
	return m, m.start(ctx)
}

// start starts a manager with the rights of the shipped account.
func (m *managed) start(ctx context.Context) error {
	return m.startAs(ctx, m.accountConfig("spillway-system", "spillway-manager"))
}

func (m *managed) startAs(ctx context.Context, as *rest.Config, changes ...func(*ctrl.Options)) error {
	ctx, cancel := context.WithCancel(ctx)
	options := manager.Options{
		SkipMetrics: true, WrapTransport: m.count,
		PodAdmission: podadmission.Options{Mode: podadmission.Auto, Port: m.port, CertDir: m.mount},
		Manager: ctrl.Options{
			Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logr.Discard(),
			Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		},
	}
	for _, change := range changes {
		change(&options.Manager)
	}
	mgr, err := manager.New(ctx, as, options)
	if err != nil {
		cancel()
		return fmt.Errorf("making a manager: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	m.stop = func() error {
		m.stop = func() error { return nil }
		cancel()
		return <-ended
	}
	return nil
}

// count counts requests.
func (m *managed) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if _, rest, ok := strings.Cut(r.URL.Path, "/namespaces/"); ok {
			namespace, _, _ := strings.Cut(rest, "/")
			counted, _ := m.requests.LoadOrStore(namespace, &atomic.Int64{})
			if n, ok := counted.(*atomic.Int64); ok {
				n.Add(1)
			}
		}
		return next.RoundTrip(r)
	})
}

// asked returns how many requests the manager has sent about a namespace.
func (m *managed) asked(namespace string) int64 {
	counted, _ := m.requests.Load(namespace)
	if n, ok := counted.(*atomic.Int64); ok {
		return n.Load()
	}
	return 0
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// mountSecret plays the kubelet.
func (m *managed) mountSecret(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(m.config)
	if err != nil {
		return err
	}
	stop, err := webhook.Mount(ctx, clients, "spillway-system", m.mount)
	if err == nil {
		atEnd = append(atEnd, func() error { stop(); return nil })
	}
	return err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port, nil
}

// offloadedIn is offloaded for another API server.
func offloadedIn(t *testing.T, s *apiServer, spec v1alpha1.NamespaceOffloadingSpec) string {
	t.Helper()
	namespace := namespaceIn(t, s, nil)
	offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.OffloadingName}, Spec: spec}
	if err := s.Create(t.Context(), offloading); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := client.IgnoreNotFound(s.Delete(ctx, offloading)); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	if spec.PodOffloadingStrategy != v1alpha1.PodsLocal {
		settled(t, s, true, namespace)
	}
	return namespace
}
