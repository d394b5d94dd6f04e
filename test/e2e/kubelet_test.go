//go:build e2e

package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("An offloaded pod", Ordered, Label("streams"), func() {
	var (
		crimson *team
		pod     *corev1.Pod
	)

	BeforeAll(func() {
		needStreams()
		crimson = newTeam("crimson", dc)
		pod = speaker(crimson.namespace, "speaker")
		consumer.create(pod)
		crimson.talks(pod)
	})

	It("gives its logs, runs commands, takes and gives files, and is reached at its ports", short, func() {
		Expect(crimson.kubectl("logs", pod.Name)).To(Equal("ready"))
		_, err := crimson.kubectl("exec", pod.Name, "--", "sh", "-c", "exit 7")
		Expect(exitCode(err)).To(Equal(7))
		crimson.copies(pod, make1MiB())
		Expect(get("http://" + crimson.forward(pod))).To(Equal(page))
	})

	DescribeTable("does as much", func(websockets string) {
		GinkgoT().Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)
		GinkgoT().Setenv("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets)

		By("a command with input")
		Expect(crimson.kubectlWith([]byte("from here"), "exec", "-i", pod.Name, "--", "cat")).To(Equal("from here"))
		By("a command that is not there")
		said, err := crimson.kubectl("exec", pod.Name, "--", "nothing-such")
		Expect(exitCode(err)).To(BeNumerically(">", 0), said)
		Expect(said).To(ContainSubstring("nothing-such"))

		By("a terminal, which changes its size")
		terminal := crimson.terminal(pod, 31, 97)
		terminal.types("until stty size | grep 31.97; do sleep 1; done")
		Eventually(terminal.shows).Should(gbytes.Say("31 97"))
		terminal.resize(50, 132)
		terminal.types("until stty size | grep 50.132; do sleep 1; done")
		Eventually(terminal.shows).Should(gbytes.Say("50 132"))
		terminal.types("exit 5")
		Eventually(terminal.ended).Should(Receive(WithTransform(exitCode, Equal(5))))

		By("files")
		crimson.copies(pod, make1MiB())
		By("ports")
		address := crimson.forward(pod)
		for range 5 {
			Expect(get("http://" + address)).To(Equal(page))
		}
	},
		Entry("over WebSockets", "true"),
		Entry("over SPDY", "false"),
	)

	It("shows the lines that are asked for, and those that come", func() {
		crimson.says(pod, "second")
		Eventually(crimson.logs(pod)).Should(Equal("ready\nsecond"))
		Expect(crimson.kubectl("logs", pod.Name, "--tail=1")).To(Equal("second"))
		Expect(crimson.kubectl("logs", pod.Name, "--since=1h")).To(Equal("ready\nsecond"))
		Eventually(crimson.logs(pod, "--since=1s")).Should(BeEmpty(), "all lines are older, after a while")

		following := crimson.start("logs", "-f", "--tail=1", pod.Name)
		Eventually(following.Out).Should(gbytes.Say("second\n"))
		crimson.says(pod, "third")
		Eventually(following.Out).Should(gbytes.Say("third\n"))
	})

	It("keeps the logs of containers that have ended", func() {
		failed := reader(crimson.namespace, "reader", 7)
		again := newPod(crimson.namespace, "again", podSpec(`if [ -e /state/there ]; then echo second life; trap "exit 0" TERM; sleep 2147483647 & wait; fi
touch /state/there; echo first life; exit 3`))
		again.Spec.Volumes = []corev1.Volume{{Name: "state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		again.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "state", MountPath: "/state"}}
		consumer.create(failed, again)

		Eventually(consumer.pod(failed)).Should(HaveField("Status.Phase", corev1.PodFailed), "the container ends")
		Expect(crimson.kubectl("logs", failed.Name)).To(ContainSubstring("from env: hello/secret"))
		Expect(crimson.kubectl("logs", "-f", failed.Name)).To(ContainSubstring("from files: hello/secret"), "there is an end of it")
		said, err := crimson.kubectl("exec", failed.Name, "--", "true")
		Expect(err).To(HaveOccurred())
		Expect(said).To(Or(ContainSubstring("there is nothing to run a command in"), ContainSubstring("completed pod")))

		Eventually(crimson.logs(again)).Should(Equal("second life"), "the container is started again")
		Expect(crimson.kubectl("logs", "--previous", again.Name)).To(Equal("first life"))
		said, err = crimson.kubectl("logs", "--previous", pod.Name)
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("previous terminated container"), "the kubelet says why not")
	})

	DescribeTable("is attached to", func(websockets string) {
		GinkgoT().Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)
		listener := newPod(crimson.namespace, "listener-"+websockets, podSpec(`while read word; do echo heard $word; done`))
		listener.Spec.Containers[0].Stdin = true
		consumer.create(listener)
		Eventually(consumer.pod(listener)).Should(beReady())
		for _, word := range []string{"one", "two"} {
			attached, input := crimson.startWithInput("attach", "-i", listener.Name)
			fmt.Fprintln(input, word)
			Eventually(attached.Out).Should(gbytes.Say("heard " + word))
			attached.Kill()
			Eventually(attached).Should(gexec.Exit())
		}
	},
		Entry("over WebSockets", "true"),
		Entry("over SPDY", "false"),
	)

	It("gets a container to debug it", func() {
		crimson.mustKubectl("debug", pod.Name, "-c", "probe", "--profile=baseline", "--image="+factory.Image(), "--image-pull-policy=IfNotPresent",
			"--", "sh", "-c", "echo from the probe; sleep 2147483647")
		Eventually(crimson.logs(pod, "-c", "probe")).Should(Equal("from the probe"))
		Expect(crimson.kubectl("exec", pod.Name, "-c", "probe", "--", "echo", "hello")).To(Equal("hello"))

		By("one that may too much")
		crimson.mustKubectl("debug", pod.Name, "-c", "mighty", "--image="+factory.Image(), "--image-pull-policy=IfNotPresent", "--", "sleep", "2147483647")
		Eventually(consumer.pod(pod)).Should(HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", BeEquivalentTo(v1alpha1.PodOffloaded)), HaveField("Message", ContainSubstring("mighty"))))), "the pod says why it is left out")
		said, err := crimson.kubectl("logs", pod.Name, "-c", "mighty")
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("has no container mighty in the provider"))
	})

	It("runs no command for whoever may only read", func() {
		viewer := crimson.viewer()
		Expect(viewer("logs", pod.Name)).To(ContainSubstring("ready"))
		for _, websockets := range []string{"true", "false"} {
			if websockets == "true" && consumer.before("1.35") {
				continue // Such an API server authorizes a WebSocket as get.
			}
			GinkgoT().Setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)
			GinkgoT().Setenv("KUBECTL_PORT_FORWARD_WEBSOCKETS", websockets)
			for _, args := range [][]string{{"exec", pod.Name, "--", "true"}, {"attach", pod.Name}, {"port-forward", pod.Name, ":8080"}} {
				said, err := viewer(args...)
				Expect(err).To(HaveOccurred(), "%v", args)
				Expect(said).To(ContainSubstring("forbidden"), "%v", args)
			}
		}
	})

	It("is out of reach while its binding is paused, and when it is gone", func() {
		follow := func() *gexec.Session {
			GinkgoHelper()
			following := crimson.start("logs", "-f", "--tail=1", pod.Name)
			Eventually(following.Out).Should(gbytes.Say("\n"))
			return following
		}
		following := follow()
		pauseBinding(dc, true)
		DeferCleanup(pauseBinding, dc, false)
		Eventually(following).Should(gexec.Exit(), "open streams end")
		Eventually(crimson.refusal("exec", pod.Name, "--", "true")).Should(ContainSubstring("is paused (spec.paused)"))
		Expect(crimson.refusal("logs", pod.Name)()).To(ContainSubstring("is paused (spec.paused)"))

		pauseBinding(dc, false)
		Eventually(crimson.refusal("exec", pod.Name, "--", "true")).Should(BeEmpty())
		following = follow()
		Expect(consumer.Delete(ctx, pod)).To(Succeed())
		Eventually(following).Should(gexec.Exit(), "streams end with the pod")
		Eventually(consumer.pod(pod)).Should(beGone())
	})
})

// make1MiB returns 1 MiB of random bytes.
func make1MiB() []byte {
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content) // It never fails.
	return content
}

// copies copies content to the container and back, and compares.
func (t *team) copies(pod client.Object, content []byte) {
	GinkgoHelper()
	directory := GinkgoT().TempDir()
	there, back := filepath.Join(directory, "there"), filepath.Join(directory, "back")
	Expect(os.WriteFile(there, content, 0o600)).To(Succeed())
	t.mustKubectl("cp", there, pod.GetName()+":/tmp/copied")
	t.mustKubectl("cp", pod.GetName()+":/tmp/copied", back)
	got, err := os.ReadFile(back)
	Expect(err).NotTo(HaveOccurred())
	Expect(sha256.Sum256(got)).To(Equal(sha256.Sum256(content)), "the copy, of %d bytes, is another", len(got))
}
