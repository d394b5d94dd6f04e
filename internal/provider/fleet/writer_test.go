package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/lease"
)

// writer counts a fleet's writes, and dies on command: like a killed process, it then
// sends nothing more.
type writer struct {
	mu     sync.Mutex
	writes []string
	looks  int // At a Lease.
	probes int
	dead   bool
	lost   string // The resource whose writes get no answer.
	fails  bool   // Writes of Leases fail, as by a webhook that does not answer.
	busy   bool   // Writes of Leases are refused, because the provider has too much to do.
}

func (w *writer) wrap(_ string, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.dead {
			return nil, errors.New("killed")
		}
		if req.Method != http.MethodGet && req.URL.Path != "/apis/authentication.k8s.io/v1/selfsubjectreviews" {
			w.writes = append(w.writes, req.Method+" "+req.URL.Path)
		}
		if req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/leases/") {
			w.looks++
		}
		if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/namespaces/"+metav1.NamespaceSystem) {
			w.probes++
		}
		if ofLease := req.Method != http.MethodGet && strings.Contains(req.URL.Path, "/leases"); ofLease && w.fails {
			return failure(req, http.StatusInternalServerError, metav1.StatusReasonInternalError, "failed calling webhook"), nil
		} else if ofLease && w.busy {
			return failure(req, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests"), nil
		}
		resp, err := next.RoundTrip(req)
		if err == nil && w.lost != "" && req.Method != http.MethodGet && strings.HasSuffix(req.URL.Path, "/"+w.lost) {
			_ = resp.Body.Close()
			return nil, errors.New("lost")
		}
		return resp, err
	})
}

func failure(req *http.Request, code int, reason metav1.StatusReason, message string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}
}

// looked waits until a Lease has been read n times.
func (w *writer) looked(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		looks := w.looks
		w.mu.Unlock()
		if looks >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Lease has been read %d times, want %d", looks, n)
		}
	}
}

func (w *writer) probed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.probes
}

func (w *writer) written() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.writes)
}

func (w *writer) lose(resource string, lose bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if lose {
		w.lost = resource
	}
}

func (w *writer) fail(fails bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = fails
}

func (w *writer) beBusy(busy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = busy
}

func (w *writer) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = true
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// leaseDuration is short enough for a test to wait for.
const leaseDuration = 900 * time.Millisecond

// startManager starts a fleet for a consumer, and returns its writer, and how to stop it.
func startManager(t *testing.T, origin string, changes ...func(*Options)) (*Fleet, *writer, func()) {
	t.Helper()
	return startManagerBy(t, clock.RealClock{}, origin, changes...)
}

// startManagerBy starts one with its own clock.
func startManagerBy(t *testing.T, clock clock.WithTickerAndDelayedExecution, origin string, changes ...func(*Options)) (*Fleet, *writer, func()) {
	t.Helper()
	w := &writer{}
	options := Options{
		Clock:  clock,
		Origin: origin, ProbeInterval: 100 * time.Millisecond, ProbeTimeout: 5 * time.Second, LeaseDuration: leaseDuration, WrapTransport: w.wrap,
	}
	for _, change := range changes {
		change(&options)
	}
	f := New(options)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = f.Start(ctx, &manager{})
	}()
	go remember(ctx, f)
	stop := func() { cancel(); <-stopped }
	t.Cleanup(stop)
	return f, w, stop
}

// admin is a client that prepares the provider, with a namespace for Leases. The test's
// Leases are deleted after it, so that the next test of the same names begins without.
func admin(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(provider, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	temporary(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.ProviderNamespace}})
	t.Cleanup(func() { // After its managers have ended.
		if err := c.DeleteAllOf(context.Background(), &coordinationv1.Lease{}, client.InNamespace(v1alpha1.ProviderNamespace)); err != nil {
			t.Error(err)
		}
	})
	return c
}

// temporary creates objects that go with the test. Nobody empties a namespace here, so
// they must go first.
func temporary(t *testing.T, c client.Client, object client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := c.Delete(context.Background(), object)
		if namespace, ok := object.(*corev1.Namespace); ok && err == nil {
			namespace.Spec.Finalizers = nil
			namespace.ResourceVersion = ""
			err = c.SubResource("finalize").Update(context.Background(), namespace)
		}
		if err != nil {
			t.Error(err)
		}
	})
}

func leaseIn(t *testing.T, c client.Client, origin string) *coordinationv1.Lease {
	t.Helper()
	found := &coordinationv1.Lease{}
	name := lease.Name(provenance.Mark{Origin: origin, ClusterID: "eu"})
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: name}, found); err != nil {
		t.Fatal(err)
	}
	return found
}

// remembering is a target whose binding remembers the same as another manager's.
func remembering(of *Fleet) Target {
	to := target("eu", "1", providerUID)
	to.Holder = of.State("eu").Holder
	return to
}
