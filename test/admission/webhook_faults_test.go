package admission

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// What the API server may find instead of the webhook. Each function returns its port.

func nobodyListens(t *testing.T) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func hangsUp(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	}()
	return portOf(t, listener.Addr())
}

// servesSlowly answers when nobody waits for the answer any more.
func (m *managed) servesSlowly(t *testing.T) int {
	t.Helper()
	certificate, err := tls.LoadX509KeyPair(filepath.Join(m.mount, corev1.TLSCertKey), filepath.Join(m.mount, corev1.TLSPrivateKeyKey))
	if err != nil {
		t.Fatal(err)
	}
	port, calls := serves(t, certificate)
	t.Cleanup(func() {
		if calls.Load() == 0 {
			t.Error("the API server has not called it")
		}
	})
	return port
}

// servesExpired has an expired certificate of the right CA.
func (m *managed) servesExpired(t *testing.T) int {
	t.Helper()
	certificate, err := tls.X509KeyPair(m.expired(t))
	if err != nil {
		t.Fatal(err)
	}
	port, calls := serves(t, certificate)
	t.Cleanup(func() {
		if calls.Load() > 0 {
			t.Error("the API server has called it")
		}
	})
	return port
}

// serves counts the calls, and answers none.
func serves(t *testing.T, certificate tls.Certificate) (port int, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // Before that, the server does not notice the end of the connection.
		<-r.Context().Done()
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return portOf(t, server.Listener.Addr()), calls
}

// expired returns an expired certificate for the webhook, signed by its CA, and its key.
func (m *managed) expired(t *testing.T) (certificate, key []byte) {
	t.Helper()
	secret := m.secret(t)
	authority, err := tls.X509KeyPair(secret.Data["ca.crt"], secret.Data["ca.key"])
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(secret.Data["ca.key"])
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	maker := &rotator.CertRotator{
		DNSName: v1alpha1.WebhookService + ".spillway-system.svc", ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, key, err = maker.CreateCertPEM(&rotator.KeyPairArtifacts{Cert: authority.Leaf, Key: private}, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return certificate, key
}

func portOf(t *testing.T, address net.Addr) int {
	t.Helper()
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		t.Fatalf("%v is no TCP address", address)
	}
	return tcp.Port
}

// leadTo makes the API server call another port, and wait that many seconds for an answer.
func (m *managed) leadTo(t *testing.T, port int, seconds *int32) {
	t.Helper()
	patch := fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/clientConfig/service/port","value":%d},{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":%d}]`,
		port, *seconds)
	if err := m.Patch(t.Context(), m.configuration(t), client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// shippedWebhook returns the shipped webhook.
func shippedWebhook(t *testing.T) admissionregistrationv1.MutatingWebhook {
	t.Helper()
	objects, err := read("config/webhook/configuration.yaml")
	if err != nil {
		t.Fatal(err)
	}
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, configuration); err != nil {
		t.Fatal(err)
	}
	return configuration.Webhooks[0]
}

// end stops the manager, and begin starts another one.
func (m *managed) end(t *testing.T) {
	t.Helper()
	if err := m.stop(); err != nil {
		t.Fatalf("the manager has ended with %v", err)
	}
}

func (m *managed) begin(t *testing.T) {
	t.Helper()
	if err := m.start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// needsPolicy skips tests of the policy itself on a release that does not serve it.
func needsPolicy(t *testing.T) {
	t.Helper()
	if older() {
		t.Skip("this release of Kubernetes does not serve MutatingAdmissionPolicy as v1")
	}
}

// needsNoManager skips tests that a manager would disturb, where one serves the webhook.
func needsNoManager(t *testing.T) {
	t.Helper()
	if older() {
		t.Skip("a manager works on this API server, for the sake of its webhook")
	}
}

// older reports whether the API servers are of a release before Kubernetes 1.36. The folder of another release than the
// usual one is named after it: see make kube KUBE_VERSION.
func older() bool {
	release, other := strings.CutPrefix(filepath.Base(assets()), "kube-v")
	return other && version.MustParse(release).LessThan(version.MustParse("1.36"))
}
