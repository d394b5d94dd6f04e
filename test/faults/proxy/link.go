package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
)

// link is an accepted connection, and the connection to the target that it is forwarded to.
type link struct {
	client net.Conn
	once   sync.Once
	done   chan struct{} // Closed when the link is to end.

	mu     sync.Mutex
	server net.Conn // nil until it was dialled.
}

// run forwards data until both sides have ended.
func (l *link) run(p *Proxy) {
	defer p.remove(l)
	defer l.close()
	if !l.await(p) {
		return
	}
	server, err := (&net.Dialer{}).DialContext(p.end, "tcp", p.target)
	if err != nil || !l.join(server) {
		return
	}
	var group sync.WaitGroup
	group.Go(func() { l.pass(p, server, l.client) })
	group.Go(func() { l.pass(p, l.client, server) })
	group.Wait()
}

// join adds the connection to the target, unless the link has ended meanwhile.
func (l *link) join(server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		_ = server.Close()
		return false
	default:
		l.server = server
		return true
	}
}

// await waits until data may pass. It returns false if the link ends first.
func (l *link) await(p *Proxy) bool {
	select {
	case <-p.open():
		return true
	case <-l.done:
		return false
	}
}

const bufferSize = 16 << 10

func (l *link) pass(p *Proxy, to, from net.Conn) {
	buffer := make([]byte, bufferSize)
	for {
		n, err := from.Read(buffer)
		if !l.await(p) {
			return
		}
		if _, writeErr := to.Write(buffer[:n]); writeErr != nil || err != nil {
			if errors.Is(err, io.EOF) && writeErr == nil && halfClose(to) {
				return // The other direction may still have data.
			}
			l.close()
			return
		}
	}
}

// halfClose tells the other side that no more data follows.
func halfClose(conn net.Conn) bool {
	tcp, ok := conn.(*net.TCPConn)
	return ok && tcp.CloseWrite() == nil
}

// reset ends the link with an RST on the manager's side.
func (l *link) reset() {
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	l.close()
}

func (l *link) close() {
	l.once.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.done)
		_ = l.client.Close()
		if l.server != nil {
			_ = l.server.Close()
		}
	})
}
