//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/spillway-io/spillway/test/clusters"
)

// consumerID is the suffix of remote namespaces' names.
const consumerID = "home"

// managerLog returns the path of the manager's log of this run.
func managerLog() string { return filepath.Join(directory(), "logs", "manager.log") }

var (
	// manager is the manager's process, and managerEnded receives its exit error.
	manager      *exec.Cmd
	managerEnded chan error
)

// startManager runs the manager for the consumer with the shipped ServiceAccount, until stopManager.
func startManager() {
	GinkgoHelper()
	program := managerProgram()
	kubeconfig, err := consumer.KubeconfigFor(ctx, systemNamespace, managerServiceAccount, tokenLifetime)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(directory(), "manager.kubeconfig")
	Expect(os.WriteFile(file, kubeconfig, 0o600)).To(Succeed())
	Expect(os.MkdirAll(filepath.Dir(managerLog()), 0o750)).To(Succeed())
	mode := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if manager == nil {
		mode |= os.O_TRUNC // The first one of this run.
	}
	log, err := os.OpenFile(managerLog(), mode, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()

	probes := freeAddress()
	host, port, err := net.SplitHostPort(freeAddress())
	Expect(err).NotTo(HaveOccurred())
	manager = exec.Command(program,
		"--kubeconfig", file,
		"--namespace", systemNamespace,
		"--cluster-id", consumerID,
		"--metrics-bind-address", "0",
		"--health-probe-bind-address", probes,
		"--kubelet-address", host,
		"--kubelet-port", port,
	)
	if *consumerRelease != "" {
		manager.Args = append(manager.Args, "--pod-admission", "Auto", "--webhook-port", strconv.Itoa(webhookPort))
		manager.Env = append(os.Environ(), "TMPDIR="+webhookFolder())
	}
	manager.Stdout, manager.Stderr = log, log
	Expect(manager.Start()).To(Succeed())
	ended, started := make(chan error, 1), manager
	managerEnded = ended
	go func() { ended <- started.Wait() }()
	Eventually(func() error {
		select {
		case err := <-ended:
			return StopTrying("the manager has ended; see " + managerLog()).Wrap(err)
		default:
			return managerReady(probes)
		}
	}).Should(Succeed(), "the manager is ready")
}

// managerProgram returns the program under test.
func managerProgram() string {
	GinkgoHelper()
	target, err := filepath.Abs(*managerPath)
	if *managerPath == "" {
		target, err = filepath.Join(root(), "bin", "manager"), nil
	}
	Expect(err).NotTo(HaveOccurred())
	Expect(target).To(BeAnExistingFile(), "run make e2e, or make build before go test")
	return ownLink(target)
}

// ownLink returns a link to a program. Its path identifies a process that a killed run has left; such a process
// is ended.
func ownLink(target string) string {
	GinkgoHelper()
	link := filepath.Join(directory(), filepath.Base(target))
	left, err := clusters.Processes(link)
	Expect(err).NotTo(HaveOccurred())
	for _, pid := range left {
		Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Or(Succeed(), MatchError(syscall.ESRCH)))
	}
	Expect(os.Remove(link)).To(Or(Succeed(), MatchError(os.ErrNotExist)))
	Expect(os.Symlink(target, link)).To(Succeed())
	return link
}

func managerReady(address string) error {
	ready := http.Client{Timeout: time.Second}
	response, err := ready.Get("http://" + address + "/readyz")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// stopManager asks the manager to end, as the kubelet does.
func stopManager() {
	GinkgoHelper()
	if err := manager.Process.Signal(syscall.SIGTERM); err != nil {
		Fail(fmt.Sprintf("the manager has ended by itself: see %s", managerLog()))
	}
	select {
	case err := <-managerEnded:
		Expect(err).NotTo(HaveOccurred(), "the manager ends when asked to, without an error")
	case <-time.After(15 * time.Second): // the grace period in config/manager
		Expect(manager.Process.Kill()).To(Succeed())
		Fail("the manager does not end within the time that its Deployment gives it")
	}
}

// killManager ends the manager as the kernel does when memory runs out.
func killManager() {
	GinkgoHelper()
	Expect(manager.Process.Kill()).To(Succeed())
	Expect(<-managerEnded).To(MatchError(ContainSubstring("killed")), "the manager had not ended before")
}

// freeAddress returns an address that nobody listens on at the moment.
func freeAddress() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	return listener.Addr().String()
}
