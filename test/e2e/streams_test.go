//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/creack/pty"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/e2e/testcluster"
)

// needStreams skips specs without running containers, or if the consumer's API server does not reach the
// manager.
func needStreams() {
	GinkgoHelper()
	needReal()
	if _, local := factory.(*testcluster.Local); !local {
		Skip("the manager is a process of this machine, which the API server in a container does not reach at 127.0.0.1")
	}
}

// speaker is a pod that serves the page at port 8080, and writes the lines of says to its log.
func speaker(namespace, name string) *corev1.Pod {
	return newPod(namespace, name, podSpec(fmt.Sprintf(`trap "exit 0" TERM
echo %q >/tmp/index.html
httpd -p 8080 -h /tmp
mkfifo /tmp/say
echo ready
while true; do cat /tmp/say & wait $!; done`, page)))
}

// says makes a speaker log a line.
func (t *team) says(pod client.Object, line string) {
	GinkgoHelper()
	t.mustKubectl("exec", pod.GetName(), "--", "sh", "-c", "echo "+line+" >/tmp/say")
}

// talks waits until a speaker is ready.
func (t *team) talks(pod client.Object) {
	GinkgoHelper()
	Eventually(consumer.pod(pod)).Should(beReady(), "the container runs")
	Eventually(t.logs(pod)).Should(Equal("ready"), "the container is ready")
}

// kubectl runs kubectl as the consumer's administrator, in the team's namespace.
func (t *team) kubectl(args ...string) (string, error) { return t.kubectlWith(nil, args...) }

func (t *team) kubectlWith(input []byte, args ...string) (string, error) {
	return consumer.kubectlWith(input, t.in(args)...)
}

func (t *team) mustKubectl(args ...string) string {
	GinkgoHelper()
	return consumer.mustKubectl(t.in(args)...)
}

func (t *team) in(args []string) []string { return append([]string{"-n", t.namespace}, args...) }

// logs returns what kubectl shows as the logs of a pod.
func (t *team) logs(pod client.Object, args ...string) func() (string, error) {
	return func() (string, error) { return t.kubectl(append([]string{"logs", pod.GetName()}, args...)...) }
}

// refusal returns kubectl's output if it fails, or "".
func (t *team) refusal(args ...string) func() string {
	return func() string {
		said, err := t.kubectl(args...)
		if err == nil {
			return ""
		}
		return said
	}
}

// exitCode returns the exit code from the error of a program.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, fmt.Errorf("this is no exit code: %w", err)
	}
	return exit.ExitCode(), nil
}

// start starts kubectl. It ends with the spec at the latest.
func (t *team) start(args ...string) *gexec.Session {
	GinkgoHelper()
	return begin(consumer.kubectlCommand(t.in(args)...))
}

// startWithInput is start with an input.
func (t *team) startWithInput(args ...string) (*gexec.Session, io.Writer) {
	GinkgoHelper()
	command := consumer.kubectlCommand(t.in(args)...)
	input, err := command.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	return begin(command), input
}

func begin(command *exec.Cmd) *gexec.Session {
	GinkgoHelper()
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		session.Kill()
		Eventually(session).Should(gexec.Exit())
	})
	return session
}

// forward forwards a port of this machine to port 8080 of a pod, until the spec ends. It returns the local
// address.
func (t *team) forward(pod client.Object) (address string) {
	GinkgoHelper()
	address, _ = t.forwarding(pod)
	return address
}

func (t *team) forwarding(pod client.Object) (address string, by *gexec.Session) {
	GinkgoHelper()
	by = t.start("port-forward", "--address=127.0.0.1", pod.GetName(), ":8080")
	Eventually(by.Out).Should(gbytes.Say("Forwarding from .*\n"))
	return regexp.MustCompile(`127.0.0.1:\d+`).FindString(string(by.Out.Contents())), by
}

// get fetches a page over a new connection.
func get(url string) (string, error) {
	fetch := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := fetch.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return strings.TrimSpace(string(body)), err
}

// terminal is a local terminal with a shell in a container.
type terminal struct {
	*os.File
	// shows has what it displayed, ended how kubectl ended.
	shows *gbytes.Buffer
	ended chan error
}

func (t *team) terminal(pod client.Object, rows, columns uint16) *terminal {
	GinkgoHelper()
	command := consumer.kubectlCommand(t.in([]string{"exec", "-it", pod.GetName(), "--", "sh"})...)
	file, err := pty.StartWithSize(command, &pty.Winsize{Rows: rows, Cols: columns})
	Expect(err).NotTo(HaveOccurred())
	opened := &terminal{File: file, shows: gbytes.BufferReader(file), ended: make(chan error, 1)}
	go func() { opened.ended <- command.Wait() }()
	DeferCleanup(func() {
		_ = command.Process.Kill() // If it has not ended.
		_ = file.Close()
	})
	return opened
}

func (t *terminal) types(line string) {
	GinkgoHelper()
	_, err := t.WriteString(line + "\n")
	Expect(err).NotTo(HaveOccurred())
}

func (t *terminal) resize(rows, columns uint16) {
	GinkgoHelper()
	Expect(pty.Setsize(t.File, &pty.Winsize{Rows: rows, Cols: columns})).To(Succeed())
}

// viewer returns kubectl with an account that may get pods and their subresources in the namespace, and
// nothing else.
func (t *team) viewer() func(args ...string) (string, error) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: t.namespace, Name: "viewer"}
	all := []string{"pods", "pods/log", "pods/exec", "pods/attach", "pods/portforward"}
	consumer.create(
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: all, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: t.namespace, Name: meta.Name}}},
	)
	raw, err := consumer.KubeconfigFor(ctx, t.namespace, meta.Name, tokenLifetime)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "viewer.kubeconfig")
	Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())
	return func(args ...string) (string, error) {
		return t.kubectl(append([]string{"--kubeconfig", file}, args...)...)
	}
}

// pauseBinding sets or clears spec.paused of a provider's binding.
func pauseBinding(provider *testCluster, paused bool) {
	GinkgoHelper()
	binding, err := read(consumer, bindingOf(provider), &v1alpha1.ClusterBinding{})()
	Expect(err).NotTo(HaveOccurred())
	changed := binding.DeepCopy()
	changed.Spec.Paused = paused
	Expect(consumer.Patch(ctx, changed, client.MergeFrom(binding))).To(Succeed())
}
