package integration

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// serverAddress forwards to a cluster, or later to another one, with the same certificate and the same token.
type serverAddress struct {
	*httptest.Server
	// answers, if set, gets each answer of the cluster, and sees each request to it.
	answers func(*http.Response) error
	sees    func(*http.Request)

	mu    sync.Mutex
	to    *httputil.ReverseProxy
	asked []string // Since it forwards to its current cluster.
}

func newAddress() *serverAddress {
	a := &serverAddress{}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := a.take(r); to != nil {
			to.ServeHTTP(w, r)
		}
	}))
	a.EnableHTTP2, a.TLS, a.Config.ErrorLog = true, &tls.Config{MinVersion: tls.VersionTLS12}, stdlog.New(io.Discard, "", 0)
	a.StartTLS()
	DeferCleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

// lead makes the address forward to a cluster, with the shipped identity.
func (a *serverAddress) lead(c *controlPlane) {
	GinkgoHelper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.providerKubeconfig())
	Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(config)
	Expect(err).NotTo(HaveOccurred())
	to, err := url.Parse(config.Host)
	Expect(err).NotTo(HaveOccurred())
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Authorization") }, Transport: transport,
		FlushInterval: -1, ModifyResponse: a.answers, ErrorLog: stdlog.New(io.Discard, "", 0),
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.to, a.asked = proxy, nil
	a.CloseClientConnections()
}

// take records a request, and returns where it goes: nowhere if its connection belongs to an earlier cluster.
func (a *serverAddress) take(r *http.Request) *httputil.ReverseProxy {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Context().Err() != nil {
		return nil
	}
	if a.sees != nil {
		a.sees(r)
	}
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	return a.to
}

// asks returns the distinct requests since the address forwards to its current cluster.
func (a *serverAddress) asks() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(a.asked)))
}

func (a *serverAddress) kubeconfig() []byte {
	GinkgoHelper()
	return edited(eu.providerKubeconfig(), func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.Server = a.URL
		cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})
	})
}

var _ = Describe("The address of a provider", Ordered, slow, func() {
	It("leads to another cluster between two probes, in which nothing is read and nothing written", func() {
		there := newAddress()
		there.lead(eu)
		t := newTeamWith(there.kubeconfig())
		local, remote := t.running()
		DeferCleanup(restart, fleet.Options{})
		restart(fleet.Options{ProbeInterval: time.Hour})
		home.isRenewed(time.Now(), t.cb)

		there.lead(us)
		Eventually(home.condition(t.cb, v1alpha1.BindingConnected)).Should(isFalse(v1alpha1.ReasonIdentityChanged, us.uid, eu.uid))
		late := home.runPod(t.cb, t.namespace)
		Consistently(func(g Gomega) {
			g.Expect(home.podPhase(local)()).To(Equal(corev1.PodRunning), "it is not lost")
			g.Expect(us.ofBinding(t.cb)()).To(BeEmpty(), "nothing is made there")
			g.Expect(there.asks()).To(ConsistOf("GET /api/v1/namespaces/kube-system"), "it is asked for nothing but who it is")
		}).Should(Succeed())

		there.lead(eu)
		restart(fleet.Options{})
		home.bindingIsReady(t.cb)
		eu.remotePod(t.cb, late)
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))
		// The address ends with the spec, and the binding is deleted later.
		home.putKubeconfig(t.cb.Name, eu.providerKubeconfig())
		home.bindingIsReady(t.cb)
	})
})
