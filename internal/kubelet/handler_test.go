package kubelet

import (
	"bufio"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/kubelet/kubeletapi"
	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/provider/transport"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// onePod is the pod team/web, on the node of binding eu.
type onePod struct {
	mu sync.Mutex
	podSnapshot
	looks int
	// later changes the pod before it is seen for the second time.
	later func(*podSnapshot)
}

func (p *onePod) lookUp(context.Context, types.NamespacedName) (podSnapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looks++; p.looks == 2 && p.later != nil {
		p.later(&p.podSnapshot)
	}
	return p.podSnapshot, nil
}

// admin may use its verb only, on everything.
type admin struct{ verb string }

func (a admin) Authenticate(r *http.Request) (user.Info, bool, error) {
	return &user.DefaultInfo{Name: "admin"}, r.Header.Get("Authorization") == "Bearer consumer", nil
}

func (a admin) Authorize(_ context.Context, _ user.Info, what Permission) (bool, string, error) {
	return what.Node == "eu" && (a.verb == "" || a.verb == what.Verb), "no rule", nil
}

// serve serves a handler in front of that provider.
func serve(t *testing.T, provider http.HandlerFunc) (*Handler, *onePod, *httptest.Server) {
	t.Helper()
	behind := httptest.NewTLSServer(provider)
	t.Cleanup(behind.Close)
	streams, err := transport.NewStreams(&rest.Config{Host: behind.URL, BearerToken: "provider", TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: behind.Certificate().Raw}),
	}}, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pods := &onePod{podSnapshot: podSnapshot{node: "eu", streams: fleet.Streams{Streams: streams, Identity: "one"}, Snapshot: kubeletapi.Snapshot{
		Local: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "local-1"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
		},
		Binding: builder.Binding("eu").Obj(), Provider: connection.State{Phase: connection.Connected}, Origin: "home",
		Remotes: []*corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-home", Name: "web-1", UID: "remote-1", Labels: provenance.Mark{Origin: "home", ClusterID: "eu"}.Labels(),
				Annotations: map[string]string{v1alpha1.AnnotationLocalNamespace: "team", v1alpha1.AnnotationLocalName: "web", v1alpha1.AnnotationLocalUID: "local-1"}},
			Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "app"}}},
		}},
	}}}
	handler := &Handler{Pods: pods, Access: admin{}}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return handler, pods, server
}

func ask(t *testing.T, ctx context.Context, server *httptest.Server, method, path string) *http.Request { //nolint:revive // The context is the test's, or ends earlier.
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer consumer")
	if !strings.HasPrefix(path, "/containerLogs") {
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "SPDY/3.1")
	}
	return req
}

const (
	logsOf  = "/containerLogs/team/web/app"
	execIn  = "/exec/team/web/app?command=date&output=1"
	forward = "/portForward/team/web"
)

// TestRefused: each refusal has a status code and a sentence, whether the user lacks a right, something does
// not exist, or the provider refuses.
func TestRefused(t *testing.T) {
	provider := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if code == http.StatusFound {
				w.Header().Set("Location", "https://elsewhere.example")
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	gone := func(s *podSnapshot) { s.Remotes = nil }
	tests := map[string]struct {
		method, path string
		access       admin
		anonymous    bool
		provider     http.HandlerFunc
		later        func(*podSnapshot)
		code         int
		reason       kubeletapi.Reason
		says         string
	}{
		"nobody":                           {"GET", logsOf, admin{}, true, nil, nil, 401, kubeletapi.Unauthenticated, "needs a client certificate or a token"},
		"nobody, of what is not there":     {"GET", "/pods", admin{}, true, nil, nil, 401, kubeletapi.Unauthenticated, "needs a client certificate"},
		"no path":                          {"GET", "/pods", admin{}, false, nil, nil, 404, kubeletapi.BadRequest, "serves only containerLogs, exec, attach and portForward"},
		"who may create reads no logs":     {"GET", logsOf, admin{"create"}, false, nil, nil, 403, kubeletapi.Unauthorized, `cannot get resource "nodes/proxy"`},
		"who may read runs nothing":        {"GET", execIn, admin{"get"}, false, nil, nil, 403, kubeletapi.Unauthorized, `cannot create resource "nodes/proxy"`},
		"who may read attaches to nothing": {"GET", "/attach/team/web/app", admin{"get"}, false, nil, nil, 403, kubeletapi.Unauthorized, `cannot create resource "nodes/proxy"`},
		"who may read forwards nothing":    {"GET", forward, admin{"get"}, false, nil, nil, 403, kubeletapi.Unauthorized, `cannot create resource "nodes/proxy"`},
		"no container":                     {"GET", "/containerLogs/team/web/other", admin{}, false, nil, nil, 400, kubeletapi.NoPod, "has no container other"},
		"the provider does not allow logs": {"GET", logsOf, admin{}, false, provider(403, `{"kind":"Status","message":"no"}`), nil, 403, kubeletapi.ProviderFailed, "provider eu does not allow pods/log, which only its administrator can change. It says: no"},
		"the provider does not allow exec": {"POST", execIn, admin{}, false, provider(403, `{"kind":"Status","message":"no"}`), nil, 403, kubeletapi.ProviderFailed, "provider eu does not allow pods/exec, which only its administrator can change. It says: no"},
		"logs are elsewhere":               {"GET", logsOf, admin{}, false, provider(302, ""), nil, 502, kubeletapi.ProviderFailed, "redirects are not followed"},
		"exec is elsewhere":                {"POST", execIn, admin{}, false, provider(302, ""), nil, 502, kubeletapi.ProviderFailed, "status code 302"},
		"exec is answered without an end":  {"POST", execIn, admin{}, false, provider(500, strings.Repeat("x", kubeletapi.MostOfAnswer)), nil, 502, kubeletapi.ProviderFailed, "provider eu: xxx"},
		"logs are never answered":          {"GET", logsOf, admin{}, false, hang, nil, 502, kubeletapi.ProviderFailed, "has not answered within"},
		"exec is never answered":           {"POST", execIn, admin{}, false, hang, nil, 502, kubeletapi.ProviderFailed, "has not answered within"},
		"why there are no logs never ends": {"GET", logsOf + "?follow=true", admin{}, false, drip, nil, 502, kubeletapi.ProviderFailed, "provider eu: "},
		"the pod goes before logs begin":   {"GET", logsOf, admin{}, false, provider(200, "secret"), gone, 400, kubeletapi.NoPod, "is gone in provider eu"},
		"the pod goes before exec begins":  {"POST", execIn, admin{}, false, echo, gone, 400, kubeletapi.NoPod, "is gone in provider eu"},
		"paused before the forward begins": {"POST", forward, admin{}, false, echo, func(s *podSnapshot) { s.Binding.Spec.Paused = true }, 403, kubeletapi.Paused, "is paused"},
		"another account before it begins": {"POST", forward, admin{}, false, echo, func(s *podSnapshot) { s.streams.Identity = "other" }, 502, kubeletapi.ProviderFailed, "another account"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handler, pods, server := serve(t, test.provider)
			handler.Access, handler.AnswerTimeout, pods.later = test.access, time.Minute, test.later
			if strings.Contains(name, "never") {
				handler.AnswerTimeout = time.Millisecond
			}
			before := refused(t)
			req := ask(t, t.Context(), server, test.method, test.path)
			if test.anonymous {
				req.Header.Del("Authorization")
				req.Header.Set("X-Remote-User", "admin")
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != test.code || !strings.Contains(string(body), test.says) {
				t.Errorf("got %d: %s\nwant %d: %s", resp.StatusCode, body, test.code, test.says)
			}
			expectClosed(t, handler)
			before[string(test.reason)]++
			if diff := cmp.Diff(before, refused(t)); diff != "" {
				t.Errorf("it is not counted for that reason:\n%s", diff)
			}
		})
	}
}

// refused returns the numbers of refused requests, by reason.
func refused(t *testing.T) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.StreamsRefused)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			counts[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
		}
	}
	return counts
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drip begins an answer with an error, and never ends it.
func drip(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// echo upgrades a connection. It sends back the request line, and then all that it receives.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n%s %s %s\n",
		r.Header.Get("Upgrade"), r.Method, r.RequestURI, r.Header.Get("Authorization"))
	_, _ = io.Copy(conn, buffered)
}

// expectClosed waits until no stream is open.
func expectClosed(t *testing.T, handler *Handler) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		handler.open.mu.Lock()
		defer handler.open.mu.Unlock()
		return handler.open.all == 0, nil
	})
	if err != nil {
		t.Error("a stream is still open")
	}
}

// TestLogs: each piece is sent at once, however long all of it takes, and an incomplete end is visible.
func TestLogs(t *testing.T) {
	next, broken := make(chan string), false
	handler, _, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintln(w, r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("Range"))
		for piece := range next {
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, piece)
		}
		if broken {
			panic(http.ErrAbortHandler)
		}
	})
	handler.AnswerTimeout = time.Millisecond // It does not apply to logs that are followed.
	for _, broken = range []bool{false, true} {
		next = make(chan string)
		req := ask(t, t.Context(), server, http.MethodGet, logsOf+"?follow=true&tailLines=5")
		req.Header.Set("Range", "bytes=0-1")
		resp := make(chan *http.Response, 1)
		go func() {
			got, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Error(err)
			}
			resp <- got
		}()
		next <- "one\n"
		got := <-resp
		lines := bufio.NewReader(got.Body)
		for _, want := range []string{"GET /api/v1/namespaces/team-home/pods/web-1/log?container=app&follow=true&tailLines=5 Bearer provider \n", "one\n"} {
			if want == "one\n" {
				next <- "two\n"
			}
			if line, _ := lines.ReadString('\n'); line != want {
				t.Fatalf("got %q, want %q", line, want)
			}
		}
		close(next)
		rest, err := io.ReadAll(lines)
		if string(rest) != "two\n" && !broken || (err != nil) != broken {
			t.Errorf("the rest is %q, %v", rest, err)
		}
		_ = got.Body.Close()
		expectClosed(t, handler)
	}
}

// TestUpgrade: a stream is relayed byte by byte, until one side or Spillway ends it.
func TestUpgrade(t *testing.T) {
	for name, end := range map[string]func(*Handler, *onePod, net.Conn){
		"by whoever asked": func(_ *Handler, _ *onePod, conn net.Conn) { _ = conn.Close() },
		"because the pod is gone": func(h *Handler, pods *onePod, _ net.Conn) {
			pods.mu.Lock()
			pods.Local = nil
			pods.mu.Unlock()
			(&Follower{Handler: h}).check(context.Background(), h.open.ofPod(types.NamespacedName{Namespace: "team", Name: "web"}))
		},
		"because the account is another one": func(h *Handler, pods *onePod, _ net.Conn) {
			pods.mu.Lock()
			pods.streams.Identity = "other"
			pods.mu.Unlock()
			(&Follower{Handler: h}).check(context.Background(), h.open.through("eu"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			handler, pods, server := serve(t, echo)
			conn, reader := upgraded(t, server)
			if line, _ := reader.ReadString('\n'); line != "POST /api/v1/namespaces/team-home/pods/web-1/exec?command=date&container=app&stdout=true Bearer provider\n" {
				t.Errorf("the provider was asked for %q", line)
			}
			_, _ = io.WriteString(conn, "hello\n")
			if line, _ := reader.ReadString('\n'); line != "hello\n" {
				t.Errorf("got back %q", line)
			}
			counted := metrics.StreamsOf{ClusterID: "eu", Kind: "exec"}
			if usage := handler.Usage()[counted]; usage.Open != 1 || usage.Received == 0 || usage.Sent == 0 {
				t.Errorf("counted %+v", usage)
			}
			(&Follower{Handler: handler}).check(t.Context(), handler.open.through("eu")) // Nothing has changed.
			_, _ = io.WriteString(conn, "again\n")
			if line, _ := reader.ReadString('\n'); line != "again\n" {
				t.Errorf("got back %q", line)
			}
			end(handler, pods, conn)
			if _, err := reader.ReadByte(); err == nil {
				t.Error("there is more")
			}
			expectClosed(t, handler)
			if usage := handler.Usage()[counted]; usage.Open != 0 || usage.Received == 0 || usage.Sent == 0 {
				t.Errorf("at the end: counted %+v", usage)
			}
		})
	}
}

func upgraded(t *testing.T, server *httptest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := ask(t, t.Context(), server, http.MethodPost, execIn).Write(conn); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp, err)
	}
	return conn, reader
}

// TestNobodyReads: a stream ends when it must, even if the client has stopped reading.
func TestNobodyReads(t *testing.T) {
	for method, path := range map[string]string{http.MethodGet: logsOf + "?follow=true", http.MethodPost: execIn} {
		t.Run(path, func(t *testing.T) {
			stuck := make(chan struct{})
			handler, pods, server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				var to io.Writer = w
				deadline := http.NewResponseController(w).SetWriteDeadline
				if r.Method == http.MethodPost {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						return
					}
					defer func() { _ = conn.Close() }()
					_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
					to, deadline = conn, conn.SetWriteDeadline
				}
				for piece := make([]byte, 1<<20); ; {
					_ = deadline(time.Now().Add(time.Second))
					if _, err := to.Write(piece); err != nil { // All buffers in between are full.
						close(stuck)
						break
					}
				}
				<-t.Context().Done()
			})
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if err := ask(t, t.Context(), server, method, path).Write(conn); err != nil {
				t.Fatal(err)
			}
			<-stuck
			pods.mu.Lock()
			pods.Local = nil
			pods.mu.Unlock()
			(&Follower{Handler: handler}).check(t.Context(), handler.open.through("eu"))
			expectClosed(t, handler)
		})
	}
}

// TestLimits: the limits for a pod, a namespace, a binding, and all streams.
func TestLimits(t *testing.T) {
	handler, _, server := serve(t, echo)
	var conns []net.Conn
	for range mostOfPod {
		conn, _ := upgraded(t, server)
		conns = append(conns, conn)
	}
	resp, err := http.DefaultTransport.RoundTrip(ask(t, t.Context(), server, http.MethodGet, logsOf))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(body), "16 streams are open to pod team/web") {
		t.Errorf("got %d: %s", resp.StatusCode, body)
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	expectClosed(t, handler)

	to := func(binding, namespace, name string) *stream {
		return &stream{request: kubeletapi.Request{Pod: types.NamespacedName{Namespace: namespace, Name: name}}, target: kubeletapi.Target{Binding: binding}}
	}
	var all streams
	opened := map[string]int{}
	var last *stream
	var refusal *kubeletapi.Refusal
	for binding := range 5 {
		for pod := range mostOfBinding {
			for range few {
				one := to(fmt.Sprint(binding), fmt.Sprint(binding, pod), fmt.Sprint(pod))
				if refusal = all.open(one); refusal == nil {
					opened[one.target.Binding]++
					last = one
				}
			}
		}
	}
	if fmt.Sprint(opened) != "map[0:128 1:128 2:128 3:128]" || !strings.Contains(refusal.Message, "512 streams are open through this manager") {
		t.Errorf("opened %v, and then: %v", opened, refusal)
	}
	all.close(last)
	if all.open(to(last.target.Binding, last.request.Pod.Namespace, last.request.Pod.Name)) != nil {
		t.Error("one that is closed makes no room")
	}

	var ofTeam streams
	for i := range mostOfNamespace {
		last = to(fmt.Sprint(i), "team", fmt.Sprint(i))
		if refusal := ofTeam.open(last); refusal != nil {
			t.Fatal(refusal)
		}
	}
	if refusal := ofTeam.open(to("0", "other", "0")); refusal != nil {
		t.Errorf("another team: %v", refusal)
	}
	more := to("more", "team", "more")
	if refusal := ofTeam.open(more); refusal == nil || refusal.Code != http.StatusTooManyRequests || !strings.Contains(refusal.Message, "32 streams are open to pods of namespace team") {
		t.Errorf("one more of the team: %v", refusal)
	}
	ofTeam.close(last)
	if refusal := ofTeam.open(more); refusal != nil {
		t.Error("one that is closed makes no room in the namespace")
	}
}

// TestShares: the last quarter of a binding's streams, and of all streams, is for namespaces that have few.
func TestShares(t *testing.T) {
	for name, binding := range map[string]func(namespace int) int{
		"of one binding": func(int) int { return 0 },
		"of all":         func(namespace int) int { return namespace },
	} {
		t.Run(name, func(t *testing.T) {
			var all streams
			var got []int
			for namespace := range 20 {
				opened := 0
				for pod := range mostOfNamespace {
					if all.open(&stream{
						request: kubeletapi.Request{Pod: types.NamespacedName{Namespace: fmt.Sprint(namespace), Name: fmt.Sprint(pod)}},
						target:  kubeletapi.Target{Binding: fmt.Sprint(binding(namespace))},
					}) == nil {
						opened++
					}
				}
				got = append(got, opened)
			}
			greedy := mostOfBinding * 3 / 4 / mostOfNamespace
			if name == "of all" {
				greedy = mostInAll * 3 / 4 / mostOfNamespace
			}
			want := slices.Concat(slices.Repeat([]int{mostOfNamespace}, greedy), slices.Repeat([]int{few}, min(20-greedy, 8)), slices.Repeat([]int{0}, max(0, 20-greedy-8)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("streams of each namespace (-want +got)\n%s", diff)
			}
		})
	}
}
