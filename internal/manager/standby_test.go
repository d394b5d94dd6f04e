package manager_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/internal/manager"
)

// If a scrape made a standby watch the consumer, the standby would later lead with these old watches.
func TestAScrapedStandbyReadsOnlyTheLeaseOfTheElection(t *testing.T) {
	server := startServer(t)
	c, err := client.New(server, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	election := metav1.ObjectMeta{Namespace: manager.DefaultNamespace, Name: "spillway-manager"}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: election.Namespace}},
		&coordinationv1.Lease{ObjectMeta: election, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("leader"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NowMicro())}},
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	registry := crmetrics.Registry
	crmetrics.Registry = prometheus.NewRegistry() // A process can register the manager's metrics only once.
	t.Cleanup(func() { crmetrics.Registry = registry })
	reads := &reads{standsBy: make(chan struct{})}
	mgr, err := manager.New(t.Context(), server, manager.Options{WrapTransport: reads.wrap, Manager: ctrl.Options{
		LeaderElection: true, LeaderElectionID: election.Name, LeaderElectionNamespace: election.Namespace,
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = mgr.Start(t.Context()) }()
	select {
	case <-reads.standsBy:
	case <-time.After(time.Minute):
		t.Fatal("it does not ask who is elected")
	}
	if _, err := crmetrics.Registry.Gather(); err != nil {
		t.Error(err)
	}
	reads.mu.Lock()
	defer reads.mu.Unlock()
	for _, path := range reads.paths {
		t.Errorf("the standby has read %s", path)
	}
}

// reads records requests for Spillway's kinds, nodes and pods.
type reads struct {
	standsBy chan struct{}
	once     sync.Once

	mu    sync.Mutex
	paths []string
}

func (r *reads) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		switch path := req.URL.Path; {
		case strings.Contains(path, "/leases/"):
			defer r.once.Do(func() { close(r.standsBy) })
		case strings.Contains(path, "/offloading.spillway.io/v1alpha1/") || strings.HasPrefix(path, "/api/v1/pods") || strings.HasPrefix(path, "/api/v1/nodes"):
			r.mu.Lock()
			defer r.mu.Unlock()
			r.paths = append(r.paths, path)
		}
		return next.RoundTrip(req)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
