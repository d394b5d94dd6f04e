//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
)

var _ = Describe("A stream to an offloaded pod", Ordered, Label("streams"), long, func() {
	var (
		ruby *team
		pod  *corev1.Pod
	)

	BeforeAll(func() {
		needStreams()
		ruby = newTeam("ruby", dc)
		pod = speaker(ruby.namespace, "speaker")
		consumer.create(pod)
		ruby.talks(pod)
	})

	It("goes on for longer, and carries more, than a single request may", func() {
		// At least eleven seconds and more than 8 MiB, but less than 10 MiB: then a kubelet rotates the log.
		const seconds, each, length = 12, 750, 1000
		chatty := newPod(ruby.namespace, "chatty", podSpec(fmt.Sprintf(`echo ready
until [ -e /tmp/go ]; do sleep 1; done
line=x; while [ ${#line} -lt %d ]; do line=$line$line; done
i=0; while [ $i -lt %d ]; do
  j=0; while [ $j -lt %d ]; do echo "$((i*%[3]d+j)) $line"; j=$((j+1)); done
  i=$((i+1)); sleep 1
done`, length, seconds, each)))
		chatty.Spec.RestartPolicy = corev1.RestartPolicyNever
		consumer.create(chatty)
		ruby.talks(chatty)

		following := consumer.kubectlCommand(ruby.in([]string{"logs", "-f", chatty.Name})...)
		out, err := following.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(following.Start()).To(Succeed())
		lines := bufio.NewScanner(out)
		Expect(lines.Scan()).To(BeTrue(), "the first line comes")
		ruby.mustKubectl("exec", chatty.Name, "--", "touch", "/tmp/go")
		count, bytes := 0, 0
		for lines.Scan() {
			number, _, _ := strings.Cut(lines.Text(), " ")
			Expect(number).To(Equal(strconv.Itoa(count)), "no line is missing")
			count++
			bytes += len(lines.Bytes()) + 1
		}
		Expect(following.Wait()).To(Succeed(), "kubectl ends with the container")
		Expect(count).To(Equal(seconds * each))
		Expect(bytes).To(BeNumerically(">", 8<<20))
	})

	DescribeTable("leaves no connection open, of a thousand", func(websockets string) {
		GinkgoT().Setenv("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets)
		before := managersConnections(dc)
		address, forwarding := ruby.forwarding(pod)
		Expect(rig.ForEach(ctx, 1000, func(context.Context, int) error {
			got, err := get("http://" + address)
			if err == nil && got != page {
				err = fmt.Errorf("it served %q", got)
			}
			return err
		})).To(Succeed())
		Eventually(func() (int, error) {
			tables, err := ruby.kubectl("exec", pod.Name, "--", "cat", "/proc/net/tcp", "/proc/net/tcp6")
			return establishedAt(tables, 8080), err
		}).Should(BeZero(), "connections are open in the pod")
		forwarding.Kill()
		Eventually(forwarding).Should(gexec.Exit())
		Eventually(managersConnections).WithArguments(dc).Should(Equal(before), "the manager has no stream to the provider any more")
	},
		Entry("over WebSockets", "true"),
		Entry("over SPDY", "false"),
	)
})

// managersConnections returns the number of the manager's connections to a provider's API server.
func managersConnections(provider *testCluster) int {
	GinkgoHelper()
	host, err := url.Parse(provider.Config().Host)
	Expect(err).NotTo(HaveOccurred())
	port, err := strconv.Atoi(host.Port())
	Expect(err).NotTo(HaveOccurred())
	open, err := measure.Connections(manager.Process.Pid)
	Expect(err).NotTo(HaveOccurred())
	return open[port]
}

// establishedAt counts the established connections with a port at either end, in tables like /proc/net/tcp.
func establishedAt(tables string, port int) int {
	const local, remote, state, established = 1, 2, 3, "01"
	count, suffix := 0, fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(tables) {
		columns := strings.Fields(line)
		if len(columns) > state && columns[state] == established && (strings.HasSuffix(columns[local], suffix) || strings.HasSuffix(columns[remote], suffix)) {
			count++
		}
	}
	return count
}
