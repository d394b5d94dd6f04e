// Package transport makes the HTTP client for one provider, and explains its
// errors.
//
// A provider may be broken, far away or hostile, and whatever it does must
// stay its own problem. So its client has nothing in common with another's: it
// is built here from net/http, not by rest.HTTPClientFor, because
// k8s.io/client-go
//
//   - looks at the environment for a proxy, and for the settings of HTTP/2,
//   - shares connections between all clients of the same certificates, in a
//     cache that is given up by the garbage collector at some time, or keeps
//     out of it a transport with a custom Proxy, whose connections nobody
//     closes then,
//   - gives a request no deadline, or all of them the same one, watches too.
//
// A client of this package uses no proxy, follows no redirect, and bounds each
// request in time and in size by what kind of request it is (see Options). It
// belongs to its owner, who gives everything back with Close: connections,
// goroutines, and requests under way.
//
// The bounds are for one HTTP request. client-go makes several of one call:
// it repeats reads whose connection broke, and whatever the server answers
// with Retry-After, ten times. Callers that must be done in time need a
// context with a deadline of their own.
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

// UserAgent is what Spillway calls itself in the audit logs of providers.
const UserAgent = "spillway-manager"

const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 5 * time.Second
	// idleTimeout closes connections that no request uses.
	idleTimeout = 90 * time.Second
	// maxHeaderBytes bounds the header of an answer. Those of an API server
	// have about 1 KiB.
	maxHeaderBytes = 256 << 10
)

// ErrClosed is the error of requests after Close, and of those that it ends
// before they are sent.
var ErrClosed = errors.New("the client for this provider is closed")

// Options are the bounds of a client. A zero value means the default.
type Options struct {
	// Timeout of a request, from dialing to the end of the answer, when it is
	// neither a list nor a watch. Defaults to 10 s.
	Timeout time.Duration
	// ListTimeout is the same for lists, and for deletions of collections. It
	// is also how long a watch may take to begin; once begun it has no
	// deadline. Defaults to 60 s.
	ListTimeout time.Duration

	// MaxBytes is the largest answer, after decompression, of a request that
	// is neither a list nor a watch. Defaults to 8 MiB. An event of a watch has
	// a bound that cannot be set.
	MaxBytes int64
	// MaxListBytes is the same for a list, with all its pages. Defaults to 256
	// MiB, which is some 50,000 pods.
	MaxListBytes int64
	// MaxListMemory is how much memory it may take once it is decoded. Defaults to
	// four times as much.
	MaxListMemory int64
	// Exceeded is told of an *ExcessError, by which the connection should end.
	// It must not block. Optional.
	Exceeded func(error)

	// PingInterval is how long an HTTP/2 connection may be silent before it is
	// probed with a ping. Defaults to 10 s.
	PingInterval time.Duration
	// PingTimeout is how long the answer to the ping may take. Then the
	// connection is closed, with all requests on it: watches on a connection
	// that leads nowhere would otherwise seem fine for up to 15 minutes.
	// Defaults to 5 s.
	PingTimeout time.Duration

	// Left, if set, is asked before each request that may change something how
	// much time is left for it; false: as much as it likes. One that has none left
	// is refused with ErrFenced. Optional.
	Left func() (time.Duration, bool)
	// Writing, if set, is told of each of them that is sent, and what it returns
	// when that has ended, and whether there was an answer. Optional.
	Writing func() (ended func(answered bool))

	// Redialed, if set, is asked before a connection is used that is not the first:
	// behind the same address there may be another cluster now, whose certificate
	// and whose keys for tokens are the same. If it fails, so do the requests that
	// wanted the connection. Optional.
	Redialed func(ctx context.Context) error

	// Wrap may count requests, or make them fail. It sees every request once
	// as it is made, without credentials, and inside of the bounds, so that
	// one that it delays runs into them too. Optional.
	Wrap func(http.RoundTripper) http.RoundTripper
}

func (o *Options) setDefaults() {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.ListTimeout = cmp.Or(o.ListTimeout, 60*time.Second)
	o.MaxBytes = cmp.Or(o.MaxBytes, 8<<20)
	o.MaxListBytes = cmp.Or(o.MaxListBytes, 256<<20)
	o.MaxListMemory = cmp.Or(o.MaxListMemory, 4*o.MaxListBytes)
	o.PingInterval = cmp.Or(o.PingInterval, 10*time.Second)
	o.PingTimeout = cmp.Or(o.PingTimeout, 5*time.Second)
}

// HTTPClient returns the client for the provider that cfg, as made by package
// kubeconfig, leads to. It makes no request. Of cfg it uses the host, the CA,
// the server name, the client certificate and the token, as data; everything
// else has no effect. It is an error if there is no CA, the host is not
// https, or the certificate does not fit its key.
//
// The client's Timeout is zero and must stay so, for it would end watches.
// When the client is no longer used, give it to Close.
func HTTPClient(cfg *rest.Config, opts Options) (*http.Client, error) {
	opts.setDefaults()
	cfg = onlyAllowed(cfg)
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
		// A redirect would take the credentials to wherever the provider says.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Close ends all requests and watches of a client that HTTPClient returned,
// closes its connections, and refuses further requests with ErrClosed. It does
// not wait. Closing twice is fine.
func Close(client *http.Client) {
	if b, ok := client.Transport.(*bounded); ok {
		b.connections.close()
	}
}

// onlyAllowed copies what this package uses of a rest.Config, so that nothing
// else in it, such as a credential plugin, can have an effect.
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

// connections are all connections of one client.
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
		Proxy:                  nil, // None, whatever the environment says.
		DialContext:            c.dial,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    handshakeTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		// net/http leaves HTTP/2 off by itself when there is a TLSClientConfig.
		ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: opts.PingInterval,
			PingTimeout:     opts.PingTimeout,
		},
	}, nil
}

// dial opens a connection that close will find. One that is opened while close
// runs is found by one of the two looks at closed.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{
		Timeout: dialTimeout,
		// What pings are for HTTP/2, for providers that speak HTTP/1 only.
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
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
		if err := c.redialed(ctx); err != nil {
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
