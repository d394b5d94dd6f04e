package kubelet

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/kubelet/usage"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// providers answers for bindings with the same names as their nodes.
type providers struct {
	mu    sync.Mutex
	asked map[string]int
	fails map[string]error // hangs: until nobody waits any more.
}

var errHangs = errors.New("hangs")

func (p *providers) several(string) bool { return false }

func (p *providers) bindingOf(_ context.Context, node string) (string, *kubeletapi.Refusal, error) {
	if node == "gone" {
		return "", &kubeletapi.Refusal{Code: http.StatusNotFound, Message: "no virtual node"}, nil
	}
	return node, nil, nil
}

func (p *providers) readings(ctx context.Context, binding string) (map[usage.Container]usage.Reading, error) {
	p.mu.Lock()
	p.asked[binding]++
	err := p.fails[binding]
	p.mu.Unlock()
	if errors.Is(err, errHangs) {
		<-ctx.Done()
		return nil, &transport.TimeoutError{}
	}
	web := usage.Container{Pod: types.NamespacedName{Namespace: "team", Name: "web"}, Name: "app"}
	return map[usage.Container]usage.Reading{web: {Cores: 1, Bytes: 1, At: time.Now(), Window: 15 * time.Second}}, err
}

func newProviders() (*providers, *Handler) {
	p := &providers{asked: map[string]int{}, fails: map[string]error{}}
	return p, &Handler{Access: admin{}, resources: newResources(p, clock.RealClock{})}
}

// scrape returns what a handler answers.
func scrape(h http.Handler, path string) (code int, body string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer consumer")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

var ofEU = kubeletapi.MetricsPath("eu")

// TestMetricsAreAskedFor: a provider is asked when somebody scrapes, and not more often than its values
// change, however many do.
func TestMetricsAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, handler := newProviders()
		for range 100 {
			if code, body := scrape(handler, ofEU); code != http.StatusOK || !strings.Contains(body, `container_cpu_usage_seconds_total{container="app",namespace="team",pod="web"} `) {
				t.Fatalf("got %d: %s", code, body)
			}
			time.Sleep(time.Second)
		}
		if p.asked["eu"] != 10 {
			t.Errorf("in 100 seconds it was asked %d times", p.asked["eu"])
		}
		if _, body := scrape(handler, ofEU); !strings.Contains(body, "node_cpu_usage_seconds_total ") {
			t.Errorf("the node is missing: %s", body)
		}
		time.Sleep(usage.Longest + time.Minute)
		if p.asked["eu"] != 11 {
			t.Error("it was asked although nobody has scraped")
		}
		handler.resources.meter("other")
		if _, held := handler.resources.meters["eu"]; held || len(handler.resources.meters) != 1 {
			t.Errorf("%d are held, of which nobody asks for one any more", len(handler.resources.meters))
		}
	})
}

// TestOneProviderHangs: a provider that hangs delays only requests for its own node, for some seconds. They
// share one request.
func TestOneProviderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, handler := newProviders()
		p.fails["eu"] = errHangs
		began := time.Now()
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() {
				if code, body := scrape(handler, ofEU); code != http.StatusBadGateway || !strings.Contains(body, "no answer from the provider in time") {
					t.Errorf("got %d: %s", code, body)
				}
			})
		}
		synctest.Wait()
		if _, err := handler.resources.meter("us").read(t.Context(), handler.resources, "us", ""); err != nil || time.Since(began) != 0 {
			t.Errorf("another one answers %v after %s", err, time.Since(began))
		}
		waiting.Wait()
		if took := time.Since(began); took != metricsTimeout || p.asked["eu"] != 1 {
			t.Errorf("they have waited for %s and %d requests", took, p.asked["eu"])
		}
	})
}

// TestNoMetrics: each answer without metrics has a status code and a sentence, except when the binding
// explains it.
func TestNoMetrics(t *testing.T) {
	for name, test := range map[string]struct {
		path   string
		access admin
		fails  error
		code   int
		says   string
	}{
		"who may not read metrics":      {ofEU, admin{"create"}, nil, http.StatusForbidden, `cannot get resource "nodes/metrics", which metrics requires, of node "eu": no rule`},
		"who may not of this node":      {kubeletapi.MetricsPath("us"), admin{}, nil, http.StatusForbidden, `of node "us"`},
		"without a node":                {"/metrics/resource", admin{}, nil, http.StatusNotFound, "/nodes/NAME/metrics/resource"},
		"other metrics of a kubelet":    {"/nodes/eu/metrics/cadvisor", admin{}, nil, http.StatusNotFound, "serves only containerLogs, exec, attach and portForward"},
		"the provider has none":         {ofEU, admin{}, fleet.NoPodMetricsError{}, http.StatusOK, ""},
		"the provider does not answer":  {ofEU, admin{}, &transport.TimeoutError{}, http.StatusBadGateway, "ClusterBinding eu cannot be read: no answer from the provider in time"},
		"its answer is nothing we know": {ofEU, admin{}, io.ErrUnexpectedEOF, http.StatusBadGateway, "closed the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			p, handler := newProviders()
			handler.Access, p.fails["eu"] = test.access, test.fails
			code, body := scrape(handler, test.path)
			if code != test.code || !strings.Contains(body, test.says) || code == http.StatusOK && body != "" {
				t.Errorf("got %d: %s\nwant %d: %s", code, body, test.code, test.says)
			}
		})
	}
	_, handler := newProviders()
	handler.Access = anyNode{}
	if code, body := scrape(handler, kubeletapi.MetricsPath("gone")); code != http.StatusNotFound || !strings.Contains(body, "no virtual node") {
		t.Errorf("of no node: got %d: %s", code, body)
	}
	r := httptest.NewRequest(http.MethodGet, ofEU, nil)
	w := httptest.NewRecorder()
	if handler.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("nobody gets %d", w.Code)
	}
}

// anyNode lets everybody do everything.
type anyNode struct{ admin }

func (anyNode) Authorize(context.Context, user.Info, Permission) (bool, string, error) {
	return true, "", nil
}
