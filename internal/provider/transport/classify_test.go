package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// expectClass checks Classify's result, and that it is fit for a condition. $URL in
// message stands for the server's URL.
func expectClass(t *testing.T, err error, server, reason, message string) {
	t.Helper()
	gotReason, gotMessage := Classify(err)
	if want := strings.ReplaceAll(message, "$URL", server); gotReason != reason || gotMessage != want {
		t.Errorf("got %s: %s\nwant %s: %s\nof %v", gotReason, gotMessage, reason, want, err)
	}
	if strings.Contains(gotMessage, canary) {
		t.Errorf("the message contains a secret: %s", gotMessage)
	}
}

// A provider that cannot be reached or trusted. Each is tried twice: the message must be
// the same.
func TestClassifyConnections(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	withTLS := func(config *tls.Config) func(*httptest.Server) {
		return func(s *httptest.Server) { s.TLS = config }
	}
	expired := &tls.Config{Certificates: []tls.Certificate{selfSigned(t, time.Now().Add(-time.Hour))}}
	tests := map[string]struct {
		config          func(t *testing.T) *rest.Config
		reason, message string
		timeout         time.Duration
	}{
		"wrong CA": {func(t *testing.T) *rest.Config {
			cfg := configFor(startServer(t, ok))
			cfg.CAData = pemOf(selfSigned(t, time.Now().AddDate(1, 0, 0)).Certificate[0])
			return cfg
		}, v1alpha1.ReasonWrongCA, "the certificate of $URL is not signed by the certificate authority of the kubeconfig", 0},
		"wrong name": {func(t *testing.T) *rest.Config {
			cfg := configFor(startServer(t, ok))
			cfg.ServerName = "other.example"
			return cfg
		}, v1alpha1.ReasonWrongCA, "the certificate of $URL is for another name; check the server and tls-server-name of the kubeconfig", 0},
		"expired": {func(t *testing.T) *rest.Config { return configFor(startServer(t, ok, withTLS(expired))) },
			v1alpha1.ReasonWrongCA, "the certificate of $URL, or of its authority, has expired or is not valid yet", 0},
		"client certificate wanted": {func(t *testing.T) *rest.Config {
			return configFor(startServer(t, ok, withTLS(&tls.Config{ClientAuth: tls.RequireAnyClientCert})))
		}, v1alpha1.ReasonUnreachable, "$URL closed the connection", 0},
		"old TLS": {func(t *testing.T) *rest.Config {
			return configFor(startServer(t, ok, withTLS(&tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10})))
		}, v1alpha1.ReasonUnreachable, "$URL closed the connection", 0},
		"no TLS": {func(t *testing.T) *rest.Config {
			plain := httptest.NewServer(http.HandlerFunc(ok))
			t.Cleanup(plain.Close)
			return at(t, plain.Listener.Addr().String())
		}, v1alpha1.ReasonUnreachable, "$URL does not speak TLS", 0},
		"garbage": {func(t *testing.T) *rest.Config {
			return at(t, startTCP(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n") }).String())
		}, v1alpha1.ReasonUnreachable, "$URL does not speak TLS", 0},
		"refused": {func(t *testing.T) *rest.Config { return at(t, nobodyListens(t)) },
			v1alpha1.ReasonUnreachable, "connection refused by $URL", 0},
		"closes": {func(t *testing.T) *rest.Config {
			return at(t, startTCP(t, func(c net.Conn) { _ = c.Close() }).String())
		}, v1alpha1.ReasonUnreachable, "$URL closed the connection", 0},
		"resets": {func(t *testing.T) *rest.Config { return at(t, startTCP(t, reset).String()) },
			v1alpha1.ReasonUnreachable, "$URL closed the connection", 0},
		"hangs": {func(t *testing.T) *rest.Config { return at(t, startTCP(t, func(net.Conn) {}).String()) },
			v1alpha1.ReasonUnreachable, "no answer from $URL in time", 50 * time.Millisecond},
		"no answer": {func(t *testing.T) *rest.Config { return configFor(startServer(t, hang(""))) },
			v1alpha1.ReasonUnreachable, "no answer from $URL in time", 50 * time.Millisecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := test.config(t)
			client := newClient(t, cfg, Options{Timeout: test.timeout})
			for range 2 {
				_, _, err := get(t, client, cfg.Host+"/version?token="+canary)
				expectClass(t, err, cfg.Host, test.reason, test.message)
			}
		})
	}
}

// at is the configuration of a client for an address without a provider.
func at(t *testing.T, address string) *rest.Config {
	cfg := configFor(startServer(t, hang("")))
	cfg.Host = "https://" + address
	return cfg
}

func nobodyListens(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// reset waits for the first byte, so that the client's write succeeds.
func reset(conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1))
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func TestClassifyCutOffAnswer(t *testing.T) {
	server := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, canary)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, func(s *httptest.Server) { s.EnableHTTP2 = false })
	_, _, err := get(t, newClient(t, configFor(server), Options{}), server.URL)
	expectClass(t, err, "", v1alpha1.ReasonUnreachable, "the provider closed the connection")
}

// What an API server, or something taken for one, may answer to client-go.
func TestClassifyAnswers(t *testing.T) {
	const noRight = "the provider accepts the credentials, but they lack a right: "
	const page = "<html>" + canary + "</html>"
	tests := map[string]struct {
		handler         http.HandlerFunc
		reason, message string
	}{
		"401": {status(401, "Unauthorized"), v1alpha1.ReasonUnauthorized, "the provider does not accept the credentials (401 Unauthorized)"},
		"401 of a proxy": {raw(401, "text/html", page), v1alpha1.ReasonUnauthorized,
			"the provider does not accept the credentials (401 Unauthorized)"},
		"403 in the cluster": {status(403, `namespaces "kube-system" is forbidden: User "c4narySecret" cannot get resource "namespaces" in API group "" at the cluster scope`),
			v1alpha1.ReasonForbidden, noRight + `cannot get resource "namespaces" in API group "" at the cluster scope`},
		"403 in a namespace": {status(403, `x is forbidden: User "c4narySecret" cannot create resource "pods/eviction" in API group "policy" in the namespace "a-1": RBAC: c4narySecret not found`),
			v1alpha1.ReasonForbidden, noRight + `cannot create resource "pods/eviction" in API group "policy" in the namespace "a-1"`},
		"403 of a path": {status(403, `forbidden: User "c4narySecret" cannot get path "/version"`),
			v1alpha1.ReasonForbidden, noRight + `cannot get path "/version"`},
		"403 of admission": {status(403, `pods "c4narySecret" is forbidden: exceeded quota`),
			v1alpha1.ReasonForbidden, "the provider accepts the credentials, but refused a request (403 Forbidden)"},
		"403 with a token as resource": {status(403, `cannot get resource "c4narySecret" in API group "" at the cluster scope`),
			v1alpha1.ReasonForbidden, "the provider accepts the credentials, but refused a request (403 Forbidden)"},
		"403 of a proxy": {raw(403, "text/html", page),
			v1alpha1.ReasonForbidden, "the provider accepts the credentials, but refused a request (403 Forbidden)"},
		"404 of an object":    {status(404, `namespaces "kube-system" not found`), v1alpha1.ReasonUnreachable, "the provider answered 404 Not Found"},
		"404 of a web server": {raw(404, "text/html", page), v1alpha1.ReasonUnreachable, notKubernetes},
		"429":                 {raw(429, "text/plain", "Too many requests "+canary), v1alpha1.ReasonUnreachable, "the provider answered 429 Too Many Requests"},
		"500":                 {status(500, "etcdserver: request timed out, id 12345 "+canary), v1alpha1.ReasonUnreachable, "the provider answered 500 Internal Server Error"},
		"502 of a proxy":      {raw(502, "text/html", page), v1alpha1.ReasonUnreachable, "the provider answered 502 Bad Gateway"},
		"503":                 {raw(503, "text/plain", canary), v1alpha1.ReasonUnreachable, "the provider answered 503 Service Unavailable"},
		"599":                 {status(599, canary), v1alpha1.ReasonUnreachable, "the provider answered 599"},
		"a web page":          {raw(200, "text/html", page), v1alpha1.ReasonUnreachable, notKubernetes},
		"an unknown kind":     {raw(200, "application/vnd.kubernetes.protobuf", string(object("c4narySecret", nil))), v1alpha1.ReasonUnreachable, notKubernetes},
		"broken Protobuf":     {raw(200, "application/vnd.kubernetes.protobuf", "k8s\x00c4narySecret"), v1alpha1.ReasonUnreachable, notKubernetes},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "https://"+canary, http.StatusFound) },
			v1alpha1.ReasonUnreachable, notKubernetes},
		"too large": {raw(200, "application/vnd.kubernetes.protobuf", string(object("Namespace", field(9, []byte(strings.Repeat(canary, 1000)))))), v1alpha1.ReasonTooLarge, "the answer is larger than 4096 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, test.handler)
			cfg := configFor(server)
			client, err := kubernetes.NewForConfigAndClient(cfg, newClient(t, cfg, Options{MaxBytes: 4096}))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err = client.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
				expectClass(t, err, "", test.reason, test.message)
				expectClass(t, fmt.Errorf("identity of the provider: %w", err), "", test.reason, test.message)
			}
		})
	}
}

// status answers like an API server.
func status(code int, message string) http.HandlerFunc {
	return raw(code, "application/json", fmt.Sprintf(
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":%q,"code":%d}`, message, code))
}

func raw(code int, contentType, content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, content)
	}
}

// Errors that are hard to provoke.
func TestClassifyErrors(t *testing.T) {
	request := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://u:c4narySecret@host:6443/api?token=c4narySecret", Err: err}
	}
	dial := func(err error) error {
		addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 34567}
		return request(&net.OpError{Op: "dial", Net: "tcp", Source: addr, Addr: addr, Err: err})
	}
	const unreachable = v1alpha1.ReasonUnreachable
	tests := map[string]struct {
		err             error
		reason, message string
	}{
		"none":           {nil, "", ""},
		"no such host":   {dial(&net.DNSError{Err: "no such host", Name: "host", Server: "10.0.0.1:53", IsNotFound: true}), unreachable, "the host of https://host:6443 cannot be resolved"},
		"DNS timeout":    {dial(&net.DNSError{Err: "i/o timeout", Name: "host", IsTimeout: true}), unreachable, "the host of https://host:6443 cannot be resolved"},
		"no route":       {dial(syscall.EHOSTUNREACH), unreachable, "there is no route to https://host:6443"},
		"no network":     {dial(syscall.ENETUNREACH), unreachable, "there is no route to https://host:6443"},
		"dial timeout":   {dial(syscall.ETIMEDOUT), unreachable, "no answer from https://host:6443 in time"},
		"broken pipe":    {dial(syscall.EPIPE), unreachable, "https://host:6443 closed the connection"},
		"deadline":       {request(context.DeadlineExceeded), unreachable, "no answer from https://host:6443 in time"},
		"bare deadline":  {context.DeadlineExceeded, unreachable, "no answer from the provider in time"},
		"cancelled":      {request(context.Canceled), unreachable, "the request was cancelled"},
		"closed by us":   {request(ErrClosed), unreachable, "the request was cancelled"},
		"unknown":        {request(errors.New(canary)), unreachable, "the request to https://host:6443 failed"},
		"unknown answer": {errors.New(canary), unreachable, notKubernetes},
		"no URL":         {&url.Error{Op: "Get", URL: "c4narySecret", Err: io.EOF}, unreachable, "the provider closed the connection"},
		"joined":         {errors.Join(errors.New(canary), request(syscall.ECONNREFUSED)), unreachable, "connection refused by https://host:6443"},
		"made by client-go": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, canary, errors.New(canary)),
			v1alpha1.ReasonForbidden, "the provider accepts the credentials, but refused a request (403 Forbidden)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { expectClass(t, test.err, "", test.reason, test.message) })
	}
}
