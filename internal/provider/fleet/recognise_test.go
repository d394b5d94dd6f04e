package fleet

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// address leads to the provider, and later to another, empty cluster that has the same
// certificate and accepts the same token.
type address struct {
	*httptest.Server

	mu      sync.Mutex
	another bool
	version string   // If set, what the provider says that it is.
	asked   []string // From the other one.
}

func newAddress(t *testing.T) *address {
	t.Helper()
	transport, err := rest.TransportFor(provider)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(provider.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Header.Del("Authorization") }, Transport: transport,
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	a := &address{}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		another, version := a.another, a.version
		if another {
			a.asked = append(a.asked, r.Method+" "+r.URL.Path)
		}
		a.mu.Unlock()
		if version != "" && r.URL.Path == "/version" {
			_, _ = io.WriteString(w, `{"gitVersion": "`+version+`"}`)
			return
		}
		if !another {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		var answer runtime.Object = &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		if strings.HasSuffix(r.URL.Path, "/namespaces/kube-system") {
			answer = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
				ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "another"}}
		}
		_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(answer, w)
	}))
	a.EnableHTTP2, a.TLS, a.Config.ErrorLog = true, &tls.Config{MinVersion: tls.VersionTLS12}, log.New(io.Discard, "", 0)
	a.StartTLS()
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

// move redirects the address to the other cluster, or back.
func (a *address) move(another bool) {
	a.mu.Lock()
	a.another = another
	a.mu.Unlock()
	a.CloseClientConnections()
}

// upgrade makes the provider say another version, and breaks the connections, as an API server that starts again.
func (a *address) upgrade(version string) {
	a.mu.Lock()
	a.version = version
	a.mu.Unlock()
	a.CloseClientConnections()
}

func (a *address) asks() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.asked)
}

// TestAnotherClusterBehindTheAddress appears between two probes, an hour apart. Nothing
// is read there, so that nothing seems deleted, and nothing is written.
func TestAnotherClusterBehindTheAddress(t *testing.T) {
	a, f, m := behindAddress(t)
	a.move(true)
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonIdentityChanged))
	if asked := slices.Compact(slices.Sorted(slices.Values(a.asks()))); !slices.Equal(asked, []string{"GET /api/v1/namespaces/kube-system"}) {
		t.Errorf("the other cluster was asked for %v", asked)
	}
	if got := m.engaged.Load(); got != 1 {
		t.Errorf("engaged %d times", got)
	}
}

// behindAddress connects to the provider behind an address.
func behindAddress(t *testing.T) (*address, *Fleet, *manager) {
	t.Helper()
	forgetLeases(t)
	a := newAddress(t)
	f, m := New(Options{Origin: "moved", ProbeInterval: time.Hour, LeaseDuration: time.Hour, Kinds: []Kind{{Object: &corev1.Pod{}}}}), &manager{}
	go func() { _ = f.Start(t.Context(), m) }()
	go remember(t.Context(), f)
	to := target("eu", "1", providerUID)
	to.Config = &rest.Config{Host: a.URL, BearerToken: "any", TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw})}}
	f.Connect(to)
	eventually(t, f, "eu", "is connected", connected)
	return a, f, m
}

// TestUpgradeBehindTheAddress: the new version is noticed although no probe is due, and the provider stays in use.
func TestUpgradeBehindTheAddress(t *testing.T) {
	a, f, m := behindAddress(t)
	a.upgrade("v9.8.7")
	eventually(t, f, "eu", "has the new version", func(state State) bool { return connected(state) && state.Version == "v9.8.7" })
	if got := m.engaged.Load(); got != 1 {
		t.Errorf("engaged %d times", got)
	}
}
