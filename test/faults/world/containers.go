package world

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// containers plays the containers of a provider's pods. A command in one of them echoes its input.
type containers struct {
	server *httptest.Server

	mu sync.Mutex
	// open is the number of running commands, by the namespace of their pods.
	open map[string]int
}

// newContainers serves the kubelet API of a provider's node.
func newContainers() *containers {
	c := &containers{open: map[string]int{}}
	c.server = httptest.NewTLSServer(c)
	return c
}

// address returns the kubelet's address for the node's status.
func (c *containers) address() (corev1.NodeAddress, corev1.NodeDaemonEndpoints, error) {
	at, err := url.Parse(c.server.URL)
	if err != nil {
		return corev1.NodeAddress{}, corev1.NodeDaemonEndpoints{}, err
	}
	port, err := strconv.ParseInt(at.Port(), 10, 32)
	return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: at.Hostname()},
		corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}}, err
}

// ServeHTTP implements http.Handler.
func (c *containers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 4 || parts[0] != "exec" {
		http.NotFound(w, r)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	c.count(parts[1], 1)
	defer c.count(parts[1], -1)
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade")); err == nil {
		_, _ = io.Copy(conn, buffered) // Until either side has gone.
	}
}

func (c *containers) count(namespace string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[namespace] += n
}

// Commands returns how many commands run in the pods of a provider's namespace.
func (l *Lane) Commands(provider, namespace string) int {
	c := l.containers[provider]
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[namespace]
}
