package foreign

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/provider/connection"
)

// api plays the API server of a provider, which serves pods in pages of two.
type api struct {
	mu       sync.Mutex
	pods     []corev1.Pod
	refuses  map[string]int // The status by the verb.
	requests []string
	events   chan metav1.WatchEvent
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, verb := r.URL.Query(), "list"
	if query.Get("watch") != "" {
		verb = "watch"
	}
	a.mu.Lock()
	a.requests = append(a.requests, verb+" "+query.Get("labelSelector")+" "+query.Get("fieldSelector"))
	status, pods := a.refuses[verb], a.pods
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case status != 0:
		w.WriteHeader(status)
		reason := map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusInternalServerError: metav1.StatusReasonInternalError}[status]
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: reason, Code: int32(status)}) //nolint:gosec // A status.
	case verb == "list":
		from := len(query.Get("continue"))
		list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
		if list.Items = pods[from:min(from+2, len(pods))]; from+2 < len(pods) {
			list.Continue = strings.Repeat("x", from+2)
		}
		_ = json.NewEncoder(w).Encode(list)
	default:
		w.(http.Flusher).Flush()
		for {
			select {
			case event := <-a.events:
				_ = json.NewEncoder(w).Encode(event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

func (a *api) refuse(verb string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refuses = map[string]int{verb: status}
}

func (a *api) asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

func (a *api) happens(t *testing.T, event string, pod *corev1.Pod) {
	t.Helper()
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	a.events <- metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: raw}}
}

func keyed(n int) types.UID { return types.UID(fmt.Sprintf("%04d", n)) }

// start watches the pods of a provider, with a limit in bytes.
func start(t *testing.T, provider *api, limit int64) (*Pods, *clocktesting.FakeClock) {
	provider.events = make(chan metav1.WatchEvent, 100)
	server := httptest.NewServer(provider)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	now := clocktesting.NewFakeClock(time.Now())
	p := New(&rest.Config{Host: server.URL, QPS: -1}, http.DefaultClient, "us", limit*share, now)
	p.Want(t.Context(), true)
	return p, now
}

func said(f *connection.Foreign) string {
	switch {
	case f == nil:
		return "nothing"
	case f.Unknown != "":
		return f.Unknown
	}
	return fmt.Sprint(f.Used)
}

// becomes waits until the followers would get what begins like that, and lets the time pass meanwhile.
func becomes(t *testing.T, p *Pods, now *clocktesting.FakeClock, step time.Duration, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.HasPrefix(said(p.Now()), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: %s, want %s", said(p.Now()), want)
		}
		now.Step(step)
	}
}

func TestPods(t *testing.T) {
	provider := &api{}
	for n := range 5 {
		provider.pods = append(provider.pods, *podOn("a", keyed(n), "1"))
	}
	p, now := start(t, provider, 1<<20)
	told := 0
	p.Follow(t.Context(), func(*connection.Foreign) { told++ })
	becomes(t, p, now, 0, "map[a:cpu 5, pods 5]") // At once.
	for _, request := range provider.asked() {
		if want := " spillway.io/origin!=us spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"; !strings.HasSuffix(request, want) {
			t.Errorf("it asks to %s", request)
		}
	}
	for n := range 1000 { // They start and end.
		provider.happens(t, "ADDED", podOn("b", keyed(100+n), "1"))
		provider.happens(t, "DELETED", podOn("b", keyed(100+n), "1"))
	}
	provider.happens(t, "MODIFIED", podOn("a", keyed(0), "3"))
	provider.happens(t, "DELETED", podOn("a", keyed(1), "1"))
	if told > 1 {
		t.Errorf("followers were told %d times before any time has passed", told)
	}
	becomes(t, p, now, publishInterval, "map[a:cpu 6, pods 4]")
	ctx, leaves := context.WithCancel(t.Context())
	p.Follow(ctx, func(*connection.Foreign) { t.Error("a follower that has left is told") })
	leaves()
	p.Want(t.Context(), false)
	becomes(t, p, now, time.Second, "nothing")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		held := len(p.followers)
		p.mu.Unlock()
		if held == 1 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d followers are held", held)
		}
	}
	if p.held != nil {
		t.Error("pods are held that nobody wants")
	}
	var none *Pods
	none.Want(t.Context(), true)
	none.Follow(t.Context(), nil)
}

// TestRefused: without the right nothing is known, and followers get the reason. A right that comes counts.
func TestRefused(t *testing.T) {
	for name, refused := range map[string]struct {
		verb   string
		status int
		want   string
	}{
		"list":                       {"list", http.StatusForbidden, "it does not let Spillway list and watch all pods: "},
		"watch":                      {"watch", http.StatusForbidden, "it does not let Spillway list and watch all pods: "},
		"by an authorizer before it": {"list", http.StatusInternalServerError, "it does not let Spillway list and watch all pods: "},
		"for another reason":         {"list", http.StatusConflict, "they cannot be listed: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := &api{pods: []corev1.Pod{*podOn("a", "1", "1")}}
			provider.refuse(refused.verb, refused.status)
			p, now := start(t, provider, 1<<20)
			becomes(t, p, now, time.Second, refused.want)
			provider.refuse("", 0)
			becomes(t, p, now, 0, "map[a:cpu 1, pods 1]")
		})
	}
}

// TestTooMany: beyond the limit nothing is held, and the pods are listed again much later.
func TestTooMany(t *testing.T) {
	const limit = 2000
	provider := &api{}
	for n := range 20 {
		provider.pods = append(provider.pods, *podOn("a", keyed(n), "1"))
	}
	p, now := start(t, provider, limit)
	becomes(t, p, now, 0, "map[a:")
	for n := range 20 { // The watch ends before the last of them.
		provider.happens(t, "ADDED", podOn("a", keyed(100+n), "1"))
	}
	becomes(t, p, now, time.Second, "its other pods with a node are more than the manager may remember")
	p.mu.Lock()
	if p.held != nil || p.next != nil {
		t.Error("pods are held")
	}
	p.mu.Unlock()
	for !now.HasWaiters() { // Until it waits.
		time.Sleep(5 * time.Millisecond)
	}
	asked := len(provider.asked())
	now.Step(againInterval / 2)
	if more := len(provider.asked()) - asked; more > 0 || !now.HasWaiters() {
		t.Errorf("%d requests while it waits", more)
	}
	for len(provider.events) > 0 {
		<-provider.events
	}
	provider.mu.Lock()
	provider.pods = provider.pods[:1]
	provider.mu.Unlock()
	becomes(t, p, now, time.Minute, "map[a:cpu 1, pods 1]")
}
