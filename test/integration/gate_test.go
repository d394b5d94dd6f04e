package integration

import (
	"io"
	"net"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// gate stands between the manager and a provider. While it is shut, nobody reaches the provider through it;
// others still reach the provider directly. It listens until the process ends. After the spec it is open, so
// that the deletion of the binding goes on.
type gate struct {
	address, provider string

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

// newGate opens a gate in front of a provider.
func newGate(provider *controlPlane) *gate {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	g := &gate{
		address: listener.Addr().String(), provider: strings.TrimPrefix(provider.Config().Host, "https://"),
		open: map[net.Conn]bool{},
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.pass(conn)
		}
	}()
	DeferCleanup(func() { g.set(false) })
	return g
}

// kubeconfig returns a kubeconfig of the provider that leads through the gate.
func (g *gate) kubeconfig(provider *controlPlane) []byte {
	GinkgoHelper()
	return edited(provider.providerKubeconfig(), func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		cluster.Server = "https://" + g.address
	})
}

// shut closes all connections and refuses new ones.
func (g *gate) shut() { g.set(true) }

// reopen accepts connections again.
func (g *gate) reopen() { g.set(false) }

func (g *gate) set(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	for conn := range g.open {
		if closed {
			_ = conn.Close()
		}
	}
}

// note registers a connection, or closes it if the gate is shut.
func (g *gate) note(conn net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		_ = conn.Close()
		return false
	}
	g.open[conn] = true
	return true
}

func (g *gate) forget(conn net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, conn)
	_ = conn.Close()
}

func (g *gate) pass(client net.Conn) {
	if !g.note(client) {
		return
	}
	defer g.forget(client)
	server, err := net.Dial("tcp", g.provider)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client) // Ends with either connection.
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}
