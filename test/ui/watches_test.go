package ui

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/spillway-io/spillway/internal/plugin/ui/view"
)

// counter passes on requests to the API server, and counts the watches that are open.
type counter struct {
	http.Handler
	mu      sync.Mutex
	open    int
	changed chan int
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		c.add(1)
		defer c.add(-1)
	}
	c.Handler.ServeHTTP(w, r)
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open += n
	c.changed <- c.open
}

func (c *counter) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}

func (c *counter) until(t *testing.T, want int) {
	t.Helper()
	for c.now() != want {
		select {
		case <-c.changed:
		case <-time.After(patience):
			t.Fatalf("%d watches are open, want %d", c.now(), want)
		}
	}
}

// TestOneSetOfWatches: two pages use the watches of one, and the last page that leaves ends them.
func TestOneSetOfWatches(t *testing.T) {
	user, err := env.AddUser(envtest.User{Name: "watcher", Groups: []string{"system:masters"}}, &rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	config := user.Config()
	through, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{changed: make(chan int, 10_000), Handler: &httputil.ReverseProxy{
		Transport: through, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}}
	between := httptest.NewServer(c)
	t.Cleanup(between.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	named := clientcmdapi.NewConfig()
	named.Clusters["c"], named.Contexts["c"] = &clientcmdapi.Cluster{Server: between.URL}, &clientcmdapi.Context{Cluster: "c"}
	named.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*named, path); err != nil {
		t.Fatal(err)
	}

	address := serve(t, "--kubeconfig", path)
	if open := c.now(); open != 0 {
		t.Errorf("%d watches are open before any page", open)
	}
	const kinds = 8 // Two of them are events.
	all := func(p view.Page) bool { return len(p.Notes) == 0 }
	first, leave := open(t, address)
	first.until("all kinds", all)
	c.until(t, kinds)
	second := &page{T: t, origin: first.origin, key: first.key, pages: make(chan view.Page, 1000)}
	leaveToo := second.stream()
	second.until("all kinds", all)
	if open := c.now(); open != kinds {
		t.Errorf("two pages have %d watches, want %d", open, kinds)
	}
	leave()
	second.ask("GET", "/api/pods", "")
	if open := c.now(); open != kinds {
		t.Errorf("after one page has left, %d watches are open, want %d", open, kinds)
	}
	leaveToo()
	c.until(t, 0)
	// The next page begins anew.
	leaveAgain := first.stream()
	c.until(t, kinds)
	leaveAgain()
	c.until(t, 0)
}
