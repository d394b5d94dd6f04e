package hostile

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// attack answers a request instead of the API server, and reports whether it did.
type attack func(http.ResponseWriter, *http.Request) bool

// front is an HTTP server in front of an API server.
type front struct {
	*httptest.Server
	current atomic.Pointer[attack]
	// These count since the last change of the attack: all requests, the requests for a further page of a
	// list, and the largest number of such pages of one list.
	requests, pages, longest atomic.Int64

	mu sync.Mutex
	// turned counts, by path, the pages of a list that were requested since the first page.
	turned map[string]int64
}

// newFront starts a front that passes all requests on.
func newFront(t *testing.T, to *rest.Config) *front {
	t.Helper()
	target, err := url.Parse(to.Host)
	must(t, err)
	config, err := rest.TLSConfigFor(&rest.Config{Host: to.Host, TLSClientConfig: rest.TLSClientConfig{CAData: to.CAData}})
	must(t, err)
	f := &front{turned: map[string]int64{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true},
		FlushInterval: -1, // So that events of a watch arrive at once.
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.count(r)
		if now := f.current.Load(); now == nil || !(*now)(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	f.EnableHTTP2 = true
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.StartTLS()
	t.Cleanup(func() {
		f.CloseClientConnections() // The test does not wait for requests that hang.
		f.Close()
	})
	return f
}

func (f *front) count(r *http.Request) {
	f.requests.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !r.URL.Query().Has("continue") {
		delete(f.turned, r.URL.Path)
		return
	}
	f.pages.Add(1)
	f.turned[r.URL.Path]++
	f.longest.Store(max(f.longest.Load(), f.turned[r.URL.Path]))
}

// set begins an attack for all requests that come from now on. If a is nil, it ends the attack.
func (f *front) set(a attack) {
	f.requests.Store(0)
	f.pages.Store(0)
	f.longest.Store(0)
	if a == nil {
		f.current.Store(nil)
		return
	}
	f.current.Store(&a)
}

// kubeconfig changes a kubeconfig of the API server so that it leads to the front.
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
