// Package proxy stands between a manager and an API server. It cuts the connection in the two ways in which
// networks do: data silently stops passing, or every connection is reset.
//
// It forwards bytes and knows nothing of TLS. In a black hole, data waits, as in the buffers of a network. It
// arrives after Heal, even if the sender has given up. So a request may be committed long after its sender
// saw it fail.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Proxy forwards connections to one address. Create it with New.
type Proxy struct {
	target   string
	listener net.Listener
	group    sync.WaitGroup
	end      context.Context //nolint:containedctx // It is the life of the proxy, which has no call that lasts as long.
	cancel   context.CancelFunc

	mu    sync.Mutex
	links map[*link]struct{}
	// passing is closed while data passes. In a black hole it is open.
	passing chan struct{}
	refuses bool
	tries   int
}

// New starts a proxy on a free port of this machine. target is a host:port.
func New(target string) (*Proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for %s: %w", target, err)
	}
	p := &Proxy{target: target, listener: listener, links: map[*link]struct{}{}, passing: closed()}
	p.end, p.cancel = context.WithCancel(context.Background())
	p.group.Go(p.serve)
	return p, nil
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Addr returns the host:port that the proxy listens at.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// BlackHole stops all data, in both directions, on old and new connections.
func (p *Proxy) BlackHole() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passing, p.refuses, p.tries = make(chan struct{}), false, 0
}

// Reset resets all connections, and each new one from then on.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses, p.tries = true, 0
	for l := range p.links {
		l.reset()
	}
	p.release() // Last, so that nothing passes that a black hole has swallowed.
}

// Heal lets everything pass again.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
	p.refuses = false
}

// release ends a black hole. The caller holds the lock.
func (p *Proxy) release() {
	select {
	case <-p.passing:
	default:
		close(p.passing)
	}
}

// Tries counts the new connections since the last BlackHole or Reset. If it is positive, the client has given
// up the old connection.
func (p *Proxy) Tries() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tries
}

// Close ends all connections, and returns when they have ended.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.listener.Close()
	p.mu.Lock()
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.group.Wait()
	return err
}

func (p *Proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // For example, a connection was reset before it was accepted.
		}
		if l := p.add(conn); l != nil {
			p.group.Go(func() { l.run(p) })
		}
	}
}

// add registers a new connection, or resets it.
func (p *Proxy) add(conn net.Conn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tries++
	l := &link{client: conn, done: make(chan struct{})}
	if p.refuses || p.end.Err() != nil {
		l.reset()
		return nil
	}
	p.links[l] = struct{}{}
	return l
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

// open returns a channel that is closed as soon as data may pass.
func (p *Proxy) open() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passing
}
