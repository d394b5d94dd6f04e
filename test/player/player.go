// Package player imitates the kubelet API of a node. It uses Kubernetes' own code for the streams, and has no
// containers. It runs no command on this machine, because it does not authenticate its clients.
package player

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// Sizes of the imitated content, in bytes.
const (
	// FileSize is the size of every file that is copied from a container.
	FileSize = 100 << 20
	// FollowedSize is the number of bytes that followers of logs get on Release.
	FollowedSize = 1 << 20
)

// Kubelet is the kubelet API of a node.
type Kubelet struct {
	server  *httptest.Server
	open    atomic.Int64
	mu      sync.Mutex
	release chan struct{}
}

// Start serves the API at a free port of 127.0.0.1, until Stop.
func Start() *Kubelet {
	k := &Kubelet{release: make(chan struct{})}
	k.server = httptest.NewTLSServer(k)
	return k
}

// Stop ends all streams and the server.
func (k *Kubelet) Stop() {
	k.server.CloseClientConnections()
	k.server.Close()
}

// Port is the port of the API.
func (k *Kubelet) Port() int32 {
	address, _ := url.Parse(k.server.URL) // The server's URL is valid.
	port, _ := strconv.ParseInt(address.Port(), 10, 32)
	return int32(port)
}

// Open is the number of requests that are being served.
func (k *Kubelet) Open() int { return int(k.open.Load()) }

// Release sends FollowedSize bytes to every client that follows a log now, and then ends these logs.
func (k *Kubelet) Release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.release)
	k.release = make(chan struct{})
}

// ServeHTTP implements http.Handler.
func (k *Kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.open.Add(1)
	defer k.open.Add(-1)
	const idle, creation = time.Hour, 30 * time.Second
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	protocols := []string{remotecommand.StreamProtocolV4Name}
	switch parts[0] {
	case "containerLogs":
		k.logs(w, r, parts[3])
	case "exec":
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		remotecommand.ServeExec(w, r, k, parts[2], "", parts[3], r.URL.Query()["command"], options, idle, creation, protocols)
	case "attach":
		options, err := remotecommand.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		remotecommand.ServeAttach(w, r, k, parts[2], "", parts[3], options, idle, creation, protocols)
	case "portForward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, k, parts[2], "", options, idle, creation, []string{"portforward.k8s.io"})
	default:
		http.NotFound(w, r)
	}
}

// logs sends one line. A client that follows the log gets more on Release.
func (k *Kubelet) logs(w http.ResponseWriter, r *http.Request, container string) {
	k.mu.Lock()
	release := k.release
	k.mu.Unlock()
	_, _ = fmt.Fprintf(w, "first line of %s\n", container)
	_ = http.NewResponseController(w).Flush()
	if r.URL.Query().Get("follow") != "true" {
		return
	}
	select {
	case <-release:
	case <-r.Context().Done():
		return
	}
	const length = 128
	line := []byte(strings.Repeat("x", length-1) + "\n")
	for range FollowedSize / length {
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// ExecInContainer implements remotecommand.Executor. It supports echo, cat and exit, and those uses of tar
// and test that kubectl cp needs.
func (*Kubelet) ExecInContainer(_ context.Context, _, _, _ string, cmd []string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	switch cmd[0] {
	case "echo":
		_, err := fmt.Fprintln(out, strings.Join(cmd[1:], " "))
		return err
	case "cat":
		_, err := io.Copy(out, in)
		return err
	case "tar":
		if cmd[1] == "cf" {
			return pack(out, strings.TrimPrefix(cmd[len(cmd)-1], "/"))
		}
		_, err := io.Copy(io.Discard, in)
		return err
	case "exit":
		code, err := strconv.Atoi(cmd[1])
		if err != nil {
			return err
		}
		return exit(code)
	}
	return exit(1)
}

func exit(code int) error {
	return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
}

// pack writes an archive with one file.
func pack(out io.Writer, name string) error {
	archive := tar.NewWriter(out)
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: FileSize}); err != nil {
		return err
	}
	piece := make([]byte, 64<<10)
	for range FileSize / len(piece) {
		if _, err := archive.Write(piece); err != nil {
			return err
		}
	}
	return archive.Close()
}

// AttachContainer implements remotecommand.Attacher.
func (*Kubelet) AttachContainer(_ context.Context, _, _, container string, _ io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	_, err := fmt.Fprintln(out, "attached to", container)
	return err
}

// PortForward implements portforward.PortForwarder.
func (*Kubelet) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	_, err := fmt.Fprintf(stream, "port %d\n", port)
	return err
}
