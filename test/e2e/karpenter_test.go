//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/e2e/testcluster"
)

// sky is a provider without nodes. Karpenter starts them, and kwok plays them.
var sky *testCluster

// startSky starts sky, with Karpenter and the NodePool in testdata, until the specs of the container end.
func startSky() {
	GinkgoHelper()
	sky = newTestCluster(testcluster.Options{Name: "sky", Log: GinkgoWriter})
	sky.startKarpenter()
	sky.takesDocumented()
	sky.mustKubectl("apply", "-f", filepath.Join("testdata", "nodepool.yaml"))
	sky.mustKubectl("wait", "--for=condition=Ready", "nodepool/default", "--timeout="+patience.String())
}

// takesDocumented shows the API server the NodePool of the documentation, in a dry run.
func (c *testCluster) takesDocumented() {
	GinkgoHelper()
	page, err := os.ReadFile(filepath.Join(root(), "docs", "spill.md"))
	Expect(err).NotTo(HaveOccurred())
	const first = "    apiVersion: karpenter.sh/v1\n"
	_, rest, found := strings.Cut(string(page), "\n"+first)
	Expect(found).To(BeTrue(), "docs/spill.md shows no NodePool")
	rest, _, _ = strings.Cut(rest, "\n\n")
	file := filepath.Join(GinkgoT().TempDir(), "nodepool.yaml")
	Expect(os.WriteFile(file, []byte(first+rest), 0o600)).To(Succeed())
	c.mustKubectl("apply", "--dry-run=server", "-f", file)
}

// startKarpenter runs Karpenter as an administrator of the cluster, with the CustomResourceDefinitions of its
// module.
func (c *testCluster) startKarpenter() {
	GinkgoHelper()
	program := filepath.Join(root(), "bin", "karpenter")
	Expect(program).To(BeAnExistingFile(), "run make karpenter")
	module := karpenterModule()
	c.mustKubectl("create", "-f", filepath.Join(module, "pkg", "apis", "crds"), "-f", filepath.Join(module, "kwok", "apis", "crds"))
	c.mustKubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout="+patience.String())

	log, err := os.Create(filepath.Join(directory(), "logs", "karpenter.log"))
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	command := exec.Command(ownLink(program))
	// Nobody asks for its health and metrics: any free ports.
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "DISABLE_LEADER_ELECTION=true", "HEALTH_PROBE_PORT=0", "METRICS_PORT=0")
	command.Stdout, command.Stderr = log, log
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(command.Process.Kill()).To(Succeed(), "Karpenter has ended by itself: see %s", log.Name())
		_ = command.Wait() // It was killed.
	})
}

// karpenterModule returns the folder of the module that make karpenter has built.
func karpenterModule() string {
	GinkgoHelper()
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/karpenter")
	command.Dir = filepath.Join(root(), "hack", "karpenter")
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(out))
}

// grown returns how many nodes Karpenter has started, and found Ready.
func (c *testCluster) grown() (int, error) {
	var nodes corev1.NodeList
	err := c.List(ctx, &nodes, client.MatchingLabels{"karpenter.sh/initialized": "true"})
	return len(nodes.Items), err
}

// saidOf returns the reasons of Karpenter's events about a pod.
func (c *testCluster) saidOf(pod client.Object) func() ([]string, error) {
	return func() ([]string, error) {
		var events corev1.EventList
		err := c.List(ctx, &events, client.InNamespace(pod.GetNamespace()))
		var reasons []string
		for _, event := range events.Items {
			if event.InvolvedObject.UID == pod.GetUID() && event.ReportingController == "karpenter" {
				reasons = append(reasons, event.Reason)
			}
		}
		return reasons, err
	}
}

// The base of the specs in growing_test.go: without Spillway, straight in the provider.
var _ = Describe("Karpenter", Ordered, growing, func() {
	BeforeAll(startSky)

	It("starts nodes for pods that wait, and says on the pod when it cannot", func() {
		Expect(sky.grown()).To(BeZero())
		fitting, beyond, large := requesting("3", 3), requesting("3", 1)[0], requesting("5", 1)[0]
		for _, pod := range fitting {
			sky.create(pod)
		}
		for _, pod := range fitting {
			Eventually(sky.pod(pod)).Should(beReady(), "Karpenter starts a node for the pod")
			Expect(sky.saidOf(pod)()).To(ContainElement("Nominated"))
		}
		Eventually(sky.grown).Should(Equal(len(fitting)))
		sky.create(beyond, large)
		for _, pod := range []*corev1.Pod{beyond, large} {
			Eventually(sky.saidOf(pod)).Should(ConsistOf("FailedScheduling"), "the scheduler has the same reason")
		}
		AddReportEntry("events", ReportEntryVisibilityFailureOrVerbose, section(sky, "get", "events", "-o", "wide", "--sort-by=.lastTimestamp"))
	})

	It("stops nodes that are empty", func() {
		sky.mustKubectl("delete", "pods", "--all", "-n", metav1.NamespaceDefault, "--wait=false")
		Eventually(sky.grown).Should(BeZero())
	})
})

// requesting returns pods of the default namespace that request so much CPU.
func requesting(cpu string, count int) []*corev1.Pod {
	spec := podSpec("")
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		pods[i] = newPod(metav1.NamespaceDefault, "", spec)
		pods[i].GenerateName = "cpu-" + cpu + "-"
	}
	return pods
}
