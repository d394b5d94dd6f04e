package integration

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fakeKubelet is the kubelet API of a node of a provider, with the code of Kubernetes'
// own, but for the containers.
type fakeKubelet struct{}

// newKubelet gives the cluster a node with a fake kubelet.
func (c *controlPlane) newKubelet() (node string) {
	GinkgoHelper()
	server := httptest.NewTLSServer(&fakeKubelet{})
	DeferCleanup(server.Close)
	DeferCleanup(server.CloseClientConnections)
	served := providerNode("64", "64Gi")
	served.Spec.Unschedulable = true
	c.create(served)
	address, err := url.Parse(server.URL)
	Expect(err).NotTo(HaveOccurred())
	port, err := strconv.Atoi(address.Port())
	Expect(err).NotTo(HaveOccurred())
	before := served.DeepCopy()
	served.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	served.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port) //nolint:gosec // A port.
	Expect(c.Status().Patch(ctx, served, client.MergeFrom(before))).To(Succeed())
	return served.Name
}

// ServeHTTP implements http.Handler.
func (k *fakeKubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const idle, creation = time.Hour, 30 * time.Second
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	protocols := []string{remotecommand.StreamProtocolV4Name}
	switch parts[0] {
	case "containerLogs":
		_, _ = fmt.Fprintf(w, "first line of %s\n", parts[3])
		_ = http.NewResponseController(w).Flush()
		if r.URL.Query().Get("follow") == "true" {
			<-r.Context().Done()
		}
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

// ExecInContainer implements remotecommand.Executor: it knows echo, cat and exit.
func (*fakeKubelet) ExecInContainer(_ context.Context, _, _, _ string, cmd []string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	switch cmd[0] {
	case "echo":
		_, err := fmt.Fprintln(out, strings.Join(cmd[1:], " "))
		return err
	case "cat":
		_, err := io.Copy(out, in)
		return err
	}
	code, err := strconv.Atoi(cmd[1])
	if err != nil {
		return err
	}
	return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
}

// AttachContainer implements remotecommand.Attacher.
func (*fakeKubelet) AttachContainer(_ context.Context, _, _, container string, _ io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	_, err := fmt.Fprintln(out, "attached to", container)
	return err
}

// PortForward implements portforward.PortForwarder.
func (*fakeKubelet) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	_, err := fmt.Fprintf(stream, "port %d\n", port)
	return err
}

// freePort is a port that nobody listens at.
func freePort() int {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // It listens at TCP.
}
