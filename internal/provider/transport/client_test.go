package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/connrotation"
)

func TestRequestsCarryTheCredentialsOverHTTP2(t *testing.T) {
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto+" "+r.UserAgent()+" "+r.Header.Get("Authorization"))
	})
	_, got, err := get(t, newClient(t, configFor(server), Options{}), server.URL)
	if want := "HTTP/2.0 spillway-manager Bearer " + canary; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestFramesAreSmall: the client tells the server the smallest limit of a frame.
func TestFramesAreSmall(t *testing.T) {
	said := make(chan uint32, 1)
	server := startServer(t, hang(""), func(s *httptest.Server) {
		s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) {
			defer close(said)
			if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
				return
			}
			frame, err := http2.NewFramer(conn, conn).ReadFrame()
			if settings, ok := frame.(*http2.SettingsFrame); ok && err == nil {
				size, _ := settings.Value(http2.SettingMaxFrameSize)
				said <- size
			}
		}}
	})
	if _, _, err := get(t, newClient(t, configFor(server), Options{}), server.URL); err == nil {
		t.Error("a server that ends the connection has answered")
	}
	if size := <-said; size != 16<<10 {
		t.Errorf("frames of %d bytes are allowed", size)
	}
}

func TestClientHasNoTimeoutOfItsOwn(t *testing.T) {
	server := startServer(t, hang(""))
	if got := newClient(t, configFor(server), Options{}).Timeout; got != 0 {
		t.Errorf("the client's timeout is %s, and ends watches", got)
	}
}

func TestClientIgnoresWhatIsNotAllowed(t *testing.T) {
	server := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Impersonate-User")+r.Header.Get("Authorization"))
	})
	cfg := configFor(server)
	cfg.ExecProvider = &clientcmdapi.ExecConfig{Command: "/nonexistent", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
	cfg.Impersonate.UserName = "admin"
	cfg.BearerTokenFile = "/nonexistent"
	cfg.CertFile, cfg.KeyFile = "/nonexistent", "/nonexistent"
	cfg.WrapTransport = func(http.RoundTripper) http.RoundTripper { return nil }
	_, got, err := get(t, newClient(t, cfg, Options{}), server.URL)
	if want := "Bearer " + canary; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestHTTPClientRefuses(t *testing.T) {
	ca := pemOf(selfSigned(t, time.Now().AddDate(1, 0, 0)).Certificate[0])
	tests := map[string]struct {
		cfg  rest.Config
		want string
	}{
		"no CA":      {rest.Config{Host: "https://host"}, "no certificate authority"},
		"insecure":   {rest.Config{Host: "https://host", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, "no certificate authority"},
		"plain http": {rest.Config{Host: "http://host", TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, "not an https URL"},
		"no host":    {rest.Config{Host: "https://", TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, "not an https URL"},
		"bad CA":     {rest.Config{Host: "https://host", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(canary)}}, "root certificates"},
		"half a pair": {rest.Config{Host: "https://host",
			TLSClientConfig: rest.TLSClientConfig{CAData: ca, CertData: ca, KeyData: []byte(canary)}}, "tls:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := HTTPClient(&test.cfg, Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var stolen atomic.Bool
	thief := startServer(t, func(http.ResponseWriter, *http.Request) { stolen.Store(true) })
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := startServer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, thief.URL, code) })
		resp, _, err := get(t, newClient(t, configFor(server), Options{}), server.URL)
		if err != nil || resp.StatusCode != code {
			t.Errorf("%d: got %v, %v, want the redirect itself", code, resp, err)
		}
	}
	if stolen.Load() {
		t.Error("a redirect was followed")
	}
}

var askedProxy atomic.Int32

// environmentProxy starts a proxy that counts its connections, for the whole process:
// net/http reads the environment only once.
var environmentProxy = sync.OnceValues(func() (net.Addr, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			askedProxy.Add(1)
			_ = conn.Close()
		}
	}()
	return listener.Addr(), nil
})

// The environment's proxy is never used for 127.0.0.1, so this needs a name. It need not
// resolve: a proxy would be asked first.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy, err := environmentProxy()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+proxy.String())
	}
	const url = "https://provider.invalid:6443"
	control := &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}
	if resp, err := control.Get(url); err == nil || askedProxy.Load() == 0 {
		t.Fatalf("the control did not use the proxy: %v, %v", resp, err)
	}
	askedProxy.Store(0)
	cfg := configFor(startServer(t, hang("")))
	cfg.Host = url
	if resp, err := newClient(t, cfg, Options{}).Get(url); err == nil || askedProxy.Load() != 0 {
		t.Errorf("got %v, %v and %d connections to the proxy, want none", resp, err, askedProxy.Load())
	}
}

func TestWrapSeesRequestsWithoutCredentials(t *testing.T) {
	server := startServer(t, func(http.ResponseWriter, *http.Request) {})
	var seen atomic.Int32
	wrap := func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			seen.Add(1)
			if req.Header.Get("Authorization") != "" {
				t.Error("the wrapper saw the credentials")
			}
			return next.RoundTrip(req)
		})
	}
	if _, _, err := get(t, newClient(t, configFor(server), Options{Wrap: wrap}), server.URL); err != nil || seen.Load() != 1 {
		t.Errorf("got %v and %d requests, want 1", err, seen.Load())
	}
}

func TestWrapIsBoundedToo(t *testing.T) {
	server := startServer(t, func(http.ResponseWriter, *http.Request) {})
	wrap := func(http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
	}
	_, _, err := get(t, newClient(t, configFor(server), Options{Wrap: wrap, Timeout: time.Millisecond}), server.URL)
	expectTimeout(t, err, time.Millisecond)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A provider that comes and goes makes a client each time.
func TestCloseFreesConnectionsAndGoroutines(t *testing.T) {
	var open atomic.Int32
	for name, http2 := range map[string]bool{"HTTP/2": true, "HTTP/1": false} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, hang("x"), func(s *httptest.Server) {
				s.EnableHTTP2 = http2
				s.Config.ConnState = countOpen(&open)
			})
			for range 20 {
				connectAndClose(t, server)
			}
			eventually(t, "the server sees all connections closed", func() bool { return open.Load() == 0 })
			eventually(t, "no goroutine of a client is left", func() bool { return clientGoroutines() == "" })
		})
	}
}

// connectAndClose closes a client with two open watches.
func connectAndClose(t *testing.T, server *httptest.Server) {
	t.Helper()
	client := newClient(t, configFor(server), Options{})
	for range 2 {
		resp, err := client.Get(server.URL + "/apis/example.com/v1/pods?watch=true")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := io.ReadAll(resp.Body); !errors.Is(err, ErrClosed) {
				t.Errorf("the watch ended with %v, want %v", err, ErrClosed)
			}
		}()
	}
	Close(client)
	if _, err := client.Get(server.URL); !errors.Is(err, ErrClosed) {
		t.Errorf("a request after Close returned %v, want %v", err, ErrClosed)
	}
}

func countOpen(open *atomic.Int32) func(net.Conn, http.ConnState) {
	return func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
}

// clientGoroutines returns the stacks of goroutines that net/http runs for a client's
// connections, and those waiting in this package.
func clientGoroutines() string {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
	var found []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, "ClientConn") || strings.Contains(stack, "persistConn") || strings.Contains(stack, "(*deadline)") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

func TestIdleConnectionsCanBeClosed(t *testing.T) {
	var open atomic.Int32
	server := startServer(t, func(http.ResponseWriter, *http.Request) {}, func(s *httptest.Server) { s.Config.ConnState = countOpen(&open) })
	client := newClient(t, configFor(server), Options{})
	for range 2 {
		if _, _, err := get(t, client, server.URL); err != nil {
			t.Fatal(err)
		}
		client.CloseIdleConnections()
		eventually(t, "the connection is closed", func() bool { return open.Load() == 0 })
	}
}

// Close may come while a connection opens.
func TestNoConnectionOutlivesClose(t *testing.T) {
	addr := startTCP(t, func(net.Conn) {})
	server := startServer(t, hang(""))
	client := newClient(t, configFor(server), Options{})
	Close(client)
	conn, err := client.Transport.(*bounded).connections.dial(t.Context(), "tcp", addr.String())
	if !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, %v, want %v", conn, err, ErrClosed)
	}
	Close(client)
}

// The connection to the provider silently stops carrying anything.
func TestBlackHoleEndsAWatch(t *testing.T) {
	server := startServer(t, hang("x"))
	relay := startRelay(t, server.Listener.Addr().String())
	cfg := configFor(server)
	cfg.Host = "https://" + relay.addr.String()
	client := newClient(t, cfg, Options{PingInterval: 300 * time.Millisecond, PingTimeout: 300 * time.Millisecond})
	resp, err := client.Get(cfg.Host + "/apis/example.com/v1/pods?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	relay.cut.Store(true)
	_, err = io.ReadAll(resp.Body)
	if _, message := Classify(err); message != "no answer from the provider in time" {
		t.Errorf("the watch ended with %v (%s)", err, message)
	}
}

// relay carries bytes between its connections and a server until it is cut.
type relay struct {
	addr net.Addr
	cut  atomic.Bool
}

func startRelay(t *testing.T, server string) *relay {
	r := &relay{}
	r.addr = startTCP(t, func(from net.Conn) {
		to, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		go r.carry(to, from)
		r.carry(from, to)
	})
	return r
}

func (r *relay) carry(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			_ = to.Close()
			return
		}
		if !r.cut.Load() {
			_, _ = to.Write(buffer[:n])
		}
	}
}

// TestRedialHasItsOwnDate checks that the requests of Redialed do not pass their date to the request that waits
// for the connection. Both may run at once.
func TestRedialHasItsOwnDate(t *testing.T) {
	server := startServer(t, func(http.ResponseWriter, *http.Request) {})
	passed := 0
	c := &connections{tracker: connrotation.NewConnectionTracker(), redialed: func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		passDate(req, &http.Response{Header: http.Header{}})
		return err
	}}
	ctx := WithDate(t.Context(), func(time.Time) { passed++ })
	for range 2 {
		conn, err := c.dial(ctx, "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	if passed != 0 {
		t.Errorf("%d dates are passed", passed)
	}
}
