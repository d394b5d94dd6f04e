package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/rest"
)

// IdleStream is how long a stream may be silent in both directions before it is closed. It is the default of
// kubelets (streamingConnectionIdleTimeout).
const IdleStream = 4 * time.Hour

// ErrHeader is the error of a stream whose answer has too long a header.
var ErrHeader = errors.New("the provider's answer has too long a header")

// Streams opens streams to the API server of a provider. Unlike the requests of a client from HTTPClient, they
// have no limits of time and size. Each has its own connection, with HTTP/1.1, so a stream that nobody reads
// delays no other. It ends with its context, or when it has been silent for IdleStream. It does not end with
// the session of the provider, since a renewed token does not make it wrong.
type Streams struct {
	base  *url.URL
	plain http.RoundTripper
	upper proxy.UpgradeRequestRoundTripper
}

// NewStreams returns the streams of the provider of cfg. It uses the same fields of cfg as HTTPClient, and
// sends no request. It uses only Bearer and Redialed of opts, and calls Redialed for each stream.
func NewStreams(cfg *rest.Config, opts Options) (*Streams, error) {
	cfg = opts.Bearer.carriedBy(onlyAllowed(cfg))
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("streams of a provider: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("streams of a provider: %w", err)
	}
	d := &streamDialer{recognise: opts.Redialed, idle: IdleStream}
	pool := func(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
		return &http.Transport{
			DialContext: dial, TLSClientConfig: tlsConfig.Clone(), TLSHandshakeTimeout: handshakeTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes, DisableKeepAlives: true, DisableCompression: true,
		}
	}
	plain, err := rest.HTTPWrappersForConfig(cfg, pool(d.dial))
	if err != nil {
		return nil, fmt.Errorf("streams of a provider: %w", err)
	}
	authenticated, err := rest.HTTPWrappersForConfig(cfg, proxy.MirrorRequest)
	if err != nil {
		return nil, fmt.Errorf("streams of a provider: %w", err)
	}
	return &Streams{base: base, plain: plain, upper: proxy.NewUpgradeRequestRoundTripper(pool(d.dialUntilEnd), authenticated)}, nil
}

// Location returns the URL of a path at the provider's API server. The path must not need escaping.
func (s *Streams) Location(path string, query url.Values) *url.URL {
	location := s.base.JoinPath(path)
	location.RawQuery = query.Encode()
	return location
}

// RoundTrip sends a request without an upgrade. It follows no redirect. It implements http.RoundTripper.
func (s *Streams) RoundTrip(req *http.Request) (*http.Response, error) { return s.plain.RoundTrip(req) }

// Upgrade returns the transport of requests that upgrade their connection.
func (s *Streams) Upgrade() proxy.UpgradeRequestRoundTripper { return s.upper }

// Traffic counts the bytes of TLS on the connection of a stream.
type Traffic struct {
	received, sent atomic.Int64
	begun          atomic.Bool
}

// Bytes returns how much has been received from the provider, and sent to it.
func (t *Traffic) Bytes() (received, sent int64) { return t.received.Load(), t.sent.Load() }

// Begin notes that the header of the answer has arrived. Until then, its size is limited.
func (t *Traffic) Begin() { t.begun.Store(true) }

// traffic is the context key of a *Traffic.
type traffic struct{}

// WithTraffic returns a context in which t counts the traffic of a stream's connection.
func WithTraffic(ctx context.Context, t *Traffic) context.Context {
	return context.WithValue(ctx, traffic{}, t)
}

// streamDialer opens the connections of streams.
type streamDialer struct {
	recognise func(context.Context) error
	idle      time.Duration
}

func (d *streamDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if d.recognise != nil {
		if err := d.recognise(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	counted, ok := ctx.Value(traffic{}).(*Traffic)
	if !ok {
		counted = &Traffic{}
	}
	stream := &streamConn{Conn: conn, traffic: counted, idle: d.idle}
	stream.timer = time.AfterFunc(d.idle, func() { _ = conn.Close() })
	return stream, nil
}

// dialUntilEnd is dial for connections that nobody else closes when ctx ends: the wait for an answer has no
// limit.
func (d *streamDialer) dialUntilEnd(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
}

// streamConn closes itself when it is silent for too long.
type streamConn struct {
	net.Conn
	traffic *Traffic
	idle    time.Duration
	timer   *time.Timer
	closed  atomic.Bool
}

// touch restarts the timer.
func (c *streamConn) touch() {
	c.timer.Reset(c.idle)
	if c.closed.Load() {
		c.timer.Stop()
	}
}

// Read implements net.Conn.
func (c *streamConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.touch()
	if c.traffic.received.Add(int64(n)) > maxHeaderBytes && !c.traffic.begun.Load() {
		return 0, ErrHeader
	}
	return n, err
}

// Write implements net.Conn.
func (c *streamConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.touch()
	c.traffic.sent.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (c *streamConn) Close() error {
	c.closed.Store(true)
	c.timer.Stop()
	return c.Conn.Close()
}
