package fleet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// gate answers as an API server whose authorizer refuses, and counts the requests of each
// path.
type gate struct {
	mu      sync.Mutex
	refused map[string]bool
	// unserved has it answer as one that does not serve what is refused; set before it is used.
	unserved bool
	asked    map[string]int
	ends     map[string][]context.CancelFunc // Of a resource's requests, some of them watches.
	news     chan struct{}
}

func newGate() *gate {
	return &gate{refused: map[string]bool{}, asked: map[string]int{}, ends: map[string][]context.CancelFunc{}, news: make(chan struct{})}
}

func (g *gate) wrap(_ string, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		resource := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
		if strings.Contains(req.URL.Query().Get("fieldSelector"), "="+v1alpha1.LimitsName) {
			resource = limitsResource
		}
		ctx, end := context.WithCancel(req.Context())
		req = req.WithContext(ctx)
		g.mu.Lock()
		refused := g.refused[resource]
		g.asked[resource]++
		g.ends[resource] = append(g.ends[resource], end)
		g.mu.Unlock()
		if !refused {
			return next.RoundTrip(req)
		}
		select {
		case g.news <- struct{}{}:
		default:
		}
		if g.unserved {
			return &http.Response{
				StatusCode: http.StatusNotFound, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
				Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, Body: io.NopCloser(strings.NewReader("404 page not found\n")),
			}, nil
		}
		return forbidden(req, resource), nil
	})
}

// forbidden is an API server's answer when it refuses a resource.
func forbidden(req *http.Request, resource string) *http.Response {
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":%q}`
	return &http.Response{
		StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(body, resource+" is forbidden"))),
	}
}

func (g *gate) refuse(resource string, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused[resource] = refused
}

// end ends the reads of a resource.
func (g *gate) end(resource string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, end := range g.ends[resource] {
		end()
	}
}

func (g *gate) count(resource string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[resource]
}

func startLimited(t *testing.T, without ...string) (*Fleet, *manager, *gate) {
	t.Helper()
	forgetLeases(t)
	g := newGate()
	for _, resource := range without {
		g.refused[resource] = true
	}
	kinds := []Kind{{Object: &corev1.Pod{}}, {Object: &corev1.ConfigMap{}, Optional: true}}
	f, m := New(Options{Origin: "consumer", ProbeInterval: 100 * time.Millisecond, ProbeTimeout: 5 * time.Second, Kinds: kinds, WrapTransport: g.wrap}), &manager{}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { defer close(stopped); _ = f.Start(ctx, m) }()
	go remember(ctx, f)
	t.Cleanup(func() { cancel(); <-stopped })
	return f, m, g
}

// limitedTo reports that rights are missing; with "" that nothing is.
func limitedTo(what string) func(State) bool {
	want := connection.Unreadable{}
	if what != "" {
		want = connection.RightMissing(what)
	}
	return func(s State) bool { return s.Phase == Connected && s.Limited == want }
}

// TestAKindThatIsNotServed is asked for when it is needed, and then until it is served.
func TestAKindThatIsNotServed(t *testing.T) {
	f, m, g := startLimited(t)
	g.unserved = true
	g.refuse("configmaps", true)
	f.Connect(target("eu", "1", providerUID))
	if state := eventually(t, f, "eu", "is connected", connected); state.Limited != (connection.Unreadable{}) {
		t.Errorf("nobody needs it, and the connection is limited: %v", state.Limited)
	}
	if _, watched := watchedBy(t, f, "eu"); len(watched) > 0 {
		t.Errorf("it watches %v, which nobody needs", watched)
	}
	need(t, f, "eu")
	eventually(t, f, "eu", "says that it is not served", func(s State) bool { return s.Limited == connection.NotServed("configmaps") })
	cl, err := f.Get("eu")
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.GetCache().List(t.Context(), &corev1.ConfigMapList{}); err != nil {
		t.Errorf("reading what is not there: %v", err)
	}
	g.refuse("configmaps", false)
	eventually(t, f, "eu", "serves ConfigMaps", limitedTo(""))
	if got := m.engaged.Load(); got != 1 || g.count("pods") != 1 {
		t.Errorf("engaged %d times, and pods were read %d times: the connection has ended", got, g.count("pods"))
	}
}

// TestARightThatIsMissingSwitchesItsKindOff from the start, and on once it is granted.
func TestARightThatIsMissingSwitchesItsKindOff(t *testing.T) {
	f, m, g := startLimited(t, "configmaps", "nodes")
	f.Connect(target("eu", "1", providerUID))
	state := eventually(t, f, "eu", "is connected", connected)
	if want := connection.RightMissing("list and watch configmaps, list and watch nodes"); state.Limited != want {
		t.Errorf("it is limited by %q when it is engaged, want %q", state.Limited, want)
	}
	cl, err := f.Get("eu")
	if err != nil {
		t.Fatal(err)
	}
	if got := cl.Rights.WhyUnreadable(ResourceOf(&corev1.ConfigMap{})); got != connection.RightMissing("list and watch configmaps") {
		t.Errorf("of ConfigMaps it lacks %q", got)
	}
	// No reader waits for the unreadable.
	bounded, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := cl.GetCache().List(bounded, &corev1.ConfigMapList{}); err != nil || !cl.GetCache().WaitForCacheSync(bounded) {
		t.Errorf("reading what is not to be had: %v", err)
	}
	for range 2 { // It is tried again, with other requests in between.
		<-g.news
	}
	g.refuse("configmaps", false)
	eventually(t, f, "eu", "can read ConfigMaps", limitedTo("list and watch nodes"))
	g.refuse("nodes", false)
	eventually(t, f, "eu", "can read all", limitedTo(""))
	if got := m.engaged.Load(); got != 1 || g.count("pods") != 1 {
		t.Errorf("engaged %d times, and pods were read %d times: the connection has ended", got, g.count("pods"))
	}
	if got := g.count("configmaps"); got > 20 {
		t.Errorf("ConfigMaps were asked for %d times", got)
	}
}

// TestLimitsThatMayNotBeReadAnyMore still count as they were, as reported until they can
// be read again.
func TestLimitsThatMayNotBeReadAnyMore(t *testing.T) {
	f, _, g := startLimited(t)
	f.Connect(target("eu", "1", providerUID))
	before := eventually(t, f, "eu", "is connected", limitedTo(""))
	if before.Limits.Reason != v1alpha1.ReasonLimitsMissing {
		t.Fatalf("there are none in this provider: %+v", before.Limits)
	}
	g.refuse(limitsResource, true)
	g.end(limitsResource)
	<-g.news // From the watch that continues the last one, and from the list after it.
	<-g.news
	after := eventually(t, f, "eu", "may not read the limits", limitedTo("list and watch limits"))
	if diff := cmp.Diff(before.Limits, after.Limits); diff != "" {
		t.Errorf("the limits are others now: %s", diff)
	}
	g.refuse(limitsResource, false)
	eventually(t, f, "eu", "can read the limits again", limitedTo(""))
}

// TestWithoutPodsNothingGoes ends the connection, and says why.
func TestWithoutPodsNothingGoes(t *testing.T) {
	f, m, g := startLimited(t, "pods", "configmaps")
	f.Connect(target("eu", "1", providerUID))
	state := eventually(t, f, "eu", "is refused", refusedFor("Forbidden"))
	if !state.CredentialsRefused() || m.engaged.Load() != 0 {
		t.Errorf("without pods: %+v, engaged %d times", state, m.engaged.Load())
	}
	g.refuse("pods", false)
	eventually(t, f, "eu", "is connected", limitedTo("list and watch configmaps"))
}
