package hostile

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// attack answers a request in place of the API server, and reports whether it did.
type attack func(http.ResponseWriter, *http.Request) bool

// front stands before an API server.
type front struct {
	*httptest.Server
	current atomic.Pointer[attack]
	// Since the last change of the attack; pages are those requests that ask for more of a list.
	requests, pages atomic.Int64
}

// newFront starts one that passes everything on.
func newFront(t *testing.T, to *rest.Config) *front {
	t.Helper()
	target, err := url.Parse(to.Host)
	must(t, err)
	config, err := rest.TLSConfigFor(&rest.Config{Host: to.Host, TLSClientConfig: rest.TLSClientConfig{CAData: to.CAData}})
	must(t, err)
	f := &front{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true},
		FlushInterval: -1, // A watch is to be seen as it comes.
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		if r.URL.Query().Has("continue") {
			f.pages.Add(1)
		}
		if now := f.current.Load(); now == nil || !(*now)(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	f.EnableHTTP2 = true
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(func() {
		f.CloseClientConnections() // What hangs is not waited for.
		f.Close()
	})
	return f
}

// set begins an attack, or ends it if there is none, for all requests that come
// from now on.
func (f *front) set(a attack) {
	f.requests.Store(0)
	f.pages.Store(0)
	if a == nil {
		f.current.Store(nil)
		return
	}
	f.current.Store(&a)
}

// kubeconfig makes one that leads to the API server lead here.
func (f *front) kubeconfig(t *testing.T, raw []byte) []byte {
	t.Helper()
	config, err := clientcmd.Load(raw)
	must(t, err)
	for _, cluster := range config.Clusters {
		cluster.Server = f.URL
		cluster.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	}
	raw, err = clientcmd.Write(*config)
	must(t, err)
	return raw
}
