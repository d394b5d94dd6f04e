package integration

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

var _ = Describe("A manager that is killed while a binding leaves its provider", slow, func() {
	DescribeTable("leaves no Lease there for long, and a binding that is made again works", func(method string, sent bool) {
		spec := unique("spec")
		cb := home.bind(eu, spec, func(cb *v1alpha1.ClusterBinding) { cb.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		home.bindingIsReady(cb)
		Expect(eu.leasesOf(cb)()).To(HaveLen(1))
		m := &mortal{}
		running.stop()
		stopped := time.Now()
		running = startManager(home, manager.Options{ConsumerID: homeID, WrapTransport: m.wrap,
			Fleet: fleet.Options{LeaseDuration: fleet.DefaultLeaseDuration, WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return m.wrap(next) }}})
		home.isRenewed(stopped, cb) // The manager holds the Lease.
		m.dieAt(method, sent)
		home.drop(cb)
		Eventually(m.isDead).Should(BeTrue(), "the binding leaves")
		running.stop()

		running = startManager(home, manager.Options{ConsumerID: homeID})
		Eventually(home.fetching(cb)).Should(absent, "the Lease has expired")
		Expect(eu.leasesOf(cb)()).To(BeEmpty())
		Expect(home.eventsAbout(cb)()).NotTo(ContainElement(HaveField("Reason", "LeftBehind")))
		again := newBinding(cb.Name, withLabels(labelSpec, spec))
		home.create(again)
		home.bindingIsReady(again)
	},
		Entry("and holds its Lease", http.MethodPatch, false),
		Entry("before it asks for the deletion of its Lease", http.MethodDelete, false),
		Entry("and gets no answer when it has asked for that", http.MethodDelete, true),
	)
})

// leasesOf returns the Leases of a binding in a provider.
func (c *controlPlane) leasesOf(cb *v1alpha1.ClusterBinding) func() ([]string, error) {
	return c.list(&coordinationv1.LeaseList{}, client.InNamespace(v1alpha1.ProviderNamespace), client.MatchingLabels{v1alpha1.LabelBinding: cb.Spec.ClusterID})
}

// mortal kills a manager: from its last request on, it sends nothing and receives nothing.
type mortal struct {
	mu   sync.Mutex
	at   string // The method of the last request, for its Lease in a provider; empty: it lives.
	sent bool   // Whether the last request is carried out.
	dead bool
}

// dieAt kills the manager at its next request for a Lease in a provider.
func (m *mortal) dieAt(method string, sent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.sent = method, sent
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// dies reports whether a request gets no answer, and whether it is sent.
func (m *mortal) dies(req *http.Request) (dead, sent bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead || m.at != req.Method || !strings.Contains(req.URL.Path, "/"+v1alpha1.ProviderNamespace+"/leases/") {
		return m.dead, !m.dead
	}
	m.dead = true
	return true, m.sent
}

func (m *mortal) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		dead, sent := m.dies(req)
		if !sent {
			return nil, errKilled
		}
		resp, err := next.RoundTrip(req)
		if dead && err == nil {
			_ = resp.Body.Close()
			return nil, errKilled
		}
		return resp, err
	})
}

// errKilled is the error of all requests of a killed manager.
var errKilled = errors.New("killed")

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
