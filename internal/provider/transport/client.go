// Package transport creates the HTTP client for one provider, and explains its errors.
//
// A provider may be broken, far away or hostile, and must not affect others. So its
// client shares nothing with another's: it is built here from net/http, not by
// rest.HTTPClientFor, because k8s.io/client-go
//
//   - reads proxy and HTTP/2 settings from the environment,
//   - shares connections between all clients of the same certificates. Its cache is
//     dropped by the garbage collector at some time, or leaves out a transport with a
//     custom Proxy, whose connections nobody closes then,
//   - gives no request a deadline, or the same one to all, watches too.
//
// A client of this package uses no proxy, follows no redirect, and limits the time and
// size of each request according to its kind (see Options). Its owner releases everything
// with Close: connections, goroutines, and requests in progress.
//
// The limits are for one HTTP request. client-go may send several for one call: it repeats reads whose
// connection broke, and requests that the server answers with Retry-After, up to ten times. Callers that must
// finish in time need a context with their own deadline.
package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
)

// UserAgent is Spillway's name in the audit logs of providers.
const UserAgent = "spillway-manager"

const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	// idleTimeout closes unused connections.
	idleTimeout = 90 * time.Second
	// maxHeaderBytes limits the header of an answer. An API server's header has about 1 KiB.
	maxHeaderBytes = 256 << 10
	// maxFrameBytes limits an HTTP/2 frame. It is the smallest limit that RFC 9113 allows.
	maxFrameBytes = 16 << 10
)

// ErrClosed is the error of requests after Close, and of requests that Close ends before they are sent.
var ErrClosed = errors.New("the client for this provider is closed")

// Options are the limits of a client. A zero value means the default.
type Options struct {
	// Timeout of a request that is neither a list nor a watch, from dialing to the end of
	// the answer. Defaults to 10 s.
	Timeout time.Duration
	// WriteTimeout is the same for a request that may change something. For each admission webhook, an API server waits
	// 10 s by default. Then it says that the webhook failed, or goes on without it. Defaults to 13 s.
	WriteTimeout time.Duration
	// ListTimeout is the same for lists, and for deletions of collections. A watch must
	// begin within it, and then has no deadline. Defaults to 60 s.
	ListTimeout time.Duration

	// MaxBytes is the largest answer, after decompression, of a request that is neither a
	// list nor a watch. Defaults to 8 MiB. The limit of an event of a watch is fixed.
	MaxBytes int64
	// MaxListBytes is the same for a list, with all its pages. Defaults to 256 MiB, some
	// 50,000 pods.
	MaxListBytes int64
	// MaxListMemory is how much memory a list may take once decoded. Defaults to four times MaxListBytes.
	MaxListMemory int64
	// Exceeded is called with an *ExcessError that should end the connection. It must not
	// block. Optional.
	Exceeded func(error)

	// PingInterval is how long an HTTP/2 connection may be silent before it is probed
	// with a ping. Defaults to 10 s.
	PingInterval time.Duration
	// PingTimeout is how long the answer to the ping may take. After that, the connection is closed with all
	// its requests. Otherwise watches on a dead connection would seem fine for up to 15 minutes. Defaults to 5
	// s.
	PingTimeout time.Duration

	// Remaining, if set, returns how much time a request that may change something has left. False means that the
	// time is unlimited. If no time is left, the request is refused with ErrFenced. At the end of that time, Remaining is
	// asked again: the request goes on if the time was extended meanwhile. Optional.
	Remaining func() (time.Duration, bool)
	// Writing, if set, is called when such a request is sent. The returned function is called when the request
	// has ended, with whether it was answered. Optional.
	Writing func() (ended func(answered bool))

	// Redialed, if set, is called before any connection except the first is used: the address may now lead to
	// another cluster with the same certificate and token keys. If it fails, the requests that wanted the
	// connection fail, too. Optional.
	Redialed func(ctx context.Context) error

	// Bearer, if set, is the token of all requests, instead of the configuration's token. Optional.
	Bearer *Bearer

	// Wrap may count requests, or make them fail. It sees every request once, as it is sent but without
	// credentials. It runs inside the limits, so a request that it delays can exceed them. Optional.
	Wrap func(http.RoundTripper) http.RoundTripper
}

func (o *Options) setDefaults() {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 13*time.Second)
	o.ListTimeout = cmp.Or(o.ListTimeout, 60*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 8<<20)
	o.MaxListBytes = cmp.Or(o.MaxListBytes, 256<<20)
	o.MaxListMemory = cmp.Or(o.MaxListMemory, 4*o.MaxListBytes)
	o.PingInterval = cmp.Or(o.PingInterval, 10*time.Second)
	o.PingTimeout = cmp.Or(o.PingTimeout, 5*time.Second)
}

// HTTPClient returns the client for the provider of cfg, which comes from package kubeconfig. It sends no
// request. It uses only the host, the CA, the server name, the client certificate and the token of cfg. It
// fails without a CA, if the host is not https, or if the certificate does not fit its key.
//
// The client's Timeout is zero and must stay so: any other would end watches. Pass the client to Close when it
// is no longer used.
func HTTPClient(cfg *rest.Config, opts Options) (*http.Client, error) {
	opts.setDefaults()
	cfg = opts.Bearer.carriedBy(onlyAllowed(cfg))
	if len(cfg.CAData) == 0 {
		return nil, errors.New("client for a provider: no certificate authority")
	}
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil || base.Scheme != "https" {
		return nil, errors.New("client for a provider: the host is not an https URL")
	}
	c := &connections{tracker: connrotation.NewConnectionTracker(), redialed: opts.Redialed}
	if c.pool, err = c.newPool(cfg, opts); err != nil {
		return nil, fmt.Errorf("client for a provider: %w", err)
	}
	authenticated, err := rest.HTTPWrappersForConfig(cfg, c.pool)
	if err != nil {
		return nil, fmt.Errorf("client for a provider: %w", err)
	}
	if opts.Wrap != nil {
		authenticated = opts.Wrap(authenticated)
	}
	return &http.Client{
		Transport: &bounded{next: authenticated, connections: c, prefix: base.Path, opts: opts, excess: newExcess(opts)},
		// A redirect could take the credentials anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Close ends all requests and watches of a client from HTTPClient, closes its connections, and refuses further
// requests with ErrClosed. It does not wait. Closing twice is fine.
func Close(client *http.Client) {
	if b, ok := client.Transport.(*bounded); ok {
		b.connections.close()
	}
}

// onlyAllowed copies the used fields of a rest.Config, so that nothing else in it, such as a credential plugin,
// has an effect.
func onlyAllowed(cfg *rest.Config) *rest.Config {
	return &rest.Config{
		Host:        cfg.Host,
		BearerToken: cfg.BearerToken,
		UserAgent:   UserAgent,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cfg.ServerName,
			CAData:     slices.Clone(cfg.CAData),
			CertData:   slices.Clone(cfg.CertData),
			KeyData:    slices.Clone(cfg.KeyData),
		},
	}
}

// connections has all connections of one client.
type connections struct {
	pool    *http.Transport
	tracker *connrotation.ConnectionTracker
	closed  atomic.Bool

	dialed   atomic.Bool
	redialed func(context.Context) error
}

func (c *connections) newPool(cfg *rest.Config, opts Options) (*http.Transport, error) {
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:                  nil, // Not from the environment.
		DialContext:            c.dial,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    handshakeTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		// With a TLSClientConfig, net/http does not use HTTP/2 by default.
		ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: opts.PingInterval,
			PingTimeout:     opts.PingTimeout,
			// net/http keeps a buffer as large as the largest frame while the connection lasts, and would allow
			// 1 MiB. A provider could make the manager hold that for each connection. Smaller frames cost nine
			// bytes each.
			MaxReadFrameSize: maxFrameBytes,
		},
	}, nil
}

// dialer probes idle connections as pings do for HTTP/2, for providers with HTTP/1 only.
var dialer = &net.Dialer{
	Timeout:         dialTimeout,
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
}

// dial opens a connection that close will find. If close runs at the same time, one of the two checks of closed
// finds the connection.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tracked := c.tracker.Track(conn)
	if c.closed.Load() {
		_ = tracked.Close()
		return nil, ErrClosed
	}
	if again := c.dialed.Swap(true); again && c.redialed != nil {
		// Its answers are no part of the request that waits for the connection, perhaps no longer.
		if err := c.redialed(WithDate(ctx, func(time.Time) {})); err != nil {
			_ = tracked.Close()
			return nil, err
		}
	}
	return tracked, nil
}

func (c *connections) close() {
	c.closed.Store(true)
	c.pool.CloseIdleConnections()
	c.tracker.CloseAll()
}
