//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// metered bounds the time until metrics have passed both metrics-servers and somebody acts on them. Each
// metrics-server needs two readings that are ten seconds apart.
const metered = 5 * time.Minute

var _ = Describe("What pods in a provider use", Ordered, func() {
	var busy *team

	BeforeAll(func() {
		needReal()
		dc.startMetricsServer()
		consumer.startMetricsServer()
		busy = newTeam("busy", dc)
		deployment := newDeployment(busy.namespace, "web", 1)
		deployment.Spec.Template.Spec = podSpec(`trap "exit 0" TERM; while true; do sleep 0.05; done`)
		consumer.create(deployment)
		busy.rolledOut("web")
	})

	It("shows in kubectl top, for pods and for the node", func() {
		Eventually(func() (string, error) { return dc.kubectl("top", "pod", "-n", busy.remote, "--no-headers") }).WithTimeout(metered).
			Should(MatchRegexp(`^web-\S+ +[1-9]\d*m +\d+Mi`), "the provider itself knows")
		Eventually(func() (string, error) { return consumer.kubectl("top", "pod", "-n", busy.namespace, "--no-headers") }).WithTimeout(metered).
			Should(MatchRegexp(`^web-\S+ +[1-9]\d*m +\d+Mi`), "the consumer knows from the provider")
		Eventually(func() (string, error) { return consumer.kubectl("top", "node", virtualNode(dc.Name()), "--no-headers") }).WithTimeout(metered).
			Should(MatchRegexp(`^\S+ +[1-9]\d*m +`), "the node has the sum of its pods")
	})

	It("has a HorizontalPodAutoscaler add a pod", func() {
		consumer.create(&autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: busy.namespace, Name: "web"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
				MinReplicas:    ptr.To[int32](1), MaxReplicas: 2,
				Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("1m"))},
				}}},
			},
		})
		web := newDeployment(busy.namespace, "web", 1)
		Eventually(read(consumer, web, &appsv1.Deployment{})).WithTimeout(metered).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))))
		busy.rolledOut("web")
		busy.bothSidesAgree()
	})

	It("is missing where nobody counts it, and the binding says so", func() {
		Eventually(read(consumer, bindingOf(eu), &v1alpha1.ClusterBinding{})).Should(
			HaveField("Status.Conditions", ContainElement(And(HaveField("Type", v1alpha1.BindingLimited), HaveField("Reason", v1alpha1.ReasonMetricsMissing)))))
		Expect(read(consumer, bindingOf(eu), &v1alpha1.ClusterBinding{})()).To(haveCondition(v1alpha1.BindingReady, metav1.ConditionTrue))
	})
})

// startMetricsServer makes a cluster serve metrics.k8s.io while the specs of this file run. metrics-server
// runs as an administrator; a Service leads the API server to it.
func (c *testCluster) startMetricsServer() {
	GinkgoHelper()
	log, err := os.Create(filepath.Join(directory(), "logs", "metrics-server-"+c.Name()+".log"))
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	_, port, err := net.SplitHostPort(freeAddress())
	Expect(err).NotTo(HaveOccurred())
	command := exec.Command(filepath.Join(root(), "bin", "kube", "metrics-server"),
		"--kubeconfig", c.Kubeconfig(), "--authentication-kubeconfig", c.Kubeconfig(), "--authorization-kubeconfig", c.Kubeconfig(),
		"--bind-address", "127.0.0.1", "--secure-port", port, "--cert-dir", filepath.Join(directory(), "metrics-server-"+c.Name()),
		"--kubelet-insecure-tls", "--kubelet-use-node-status-port", "--kubelet-preferred-address-types", "InternalIP,Hostname",
		"--metric-resolution", "10s", "--kubelet-request-timeout", "5s",
	)
	command.Stdout, command.Stderr = log, log
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(command.Process.Kill()).To(Succeed())
		_ = command.Wait() // It was killed.
	})
	out, err := c.kubectlWith([]byte(strings.ReplaceAll(metricsService, "PORT", port)), "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), out)
	DeferCleanup(func() { c.mustKubectl("delete", "apiservice", "v1beta1.metrics.k8s.io") })
	Eventually(func() (string, error) {
		return c.kubectl("get", "apiservice", "v1beta1.metrics.k8s.io", "-o", `jsonpath={.status.conditions[?(@.type=="Available")].status}`)
	}).Should(Equal("True"), fmt.Sprintf("metrics-server answers the API server of %s; see %s", c.Name(), log.Name()))
}

const metricsService = `
apiVersion: v1
kind: Service
metadata: {namespace: kube-system, name: metrics-server}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: kube-system, name: metrics-server, port: PORT}
`
