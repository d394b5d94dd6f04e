//go:build e2e

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/podadmission"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/test/webhook"
)

// The webhook prepares pods that the consumer's own scheduler places. The specs also cover pods that are
// created without it. They need -consumer, and a release before 1.36.
var _ = Describe("A consumer before Kubernetes 1.36", Ordered, Label("pods"), func() {
	const ordinary = "consumer-node-1"
	var maroon *team

	BeforeAll(func() {
		if !consumer.before("1.36") {
			Skip("the consumer is no older one: see -consumer")
		}
		maroon = newTeam("maroon", eu)
	})

	It("says that the webhook is there", func() {
		Expect(read(consumer, bindingOf(eu), &v1alpha1.ClusterBinding{})()).To(HaveField("Status.Conditions",
			ContainElement(And(HaveField("Type", v1alpha1.BindingPodAdmission), HaveField("Reason", v1alpha1.ReasonWebhookServed)))))
	})

	It("has all pods of a Remote namespace go to the provider, though its own node has room", func() {
		consumer.create(newDeployment(maroon.namespace, "web", 6))
		maroon.rolledOut("web")
		maroon.bothSidesAgree()
		Expect(consumer.nodesOf(maroon.namespace)).To(And(HaveLen(6), HaveEach(virtualNode(eu.Name()))))
	})

	It("makes pods as they are while the manager is away, and they run on its own node", func() {
		stopManager()
		DeferCleanup(startManager) // At the end of this spec.
		consumer.create(newDeployment(maroon.namespace, "missed", 3))
		maroon.rolledOut("missed")
		for _, pod := range maroon.pods("missed") {
			Expect(pod.Spec.NodeName).To(Equal(ordinary), "pod %s", pod.Name)
		}
	})

	It("tells of each of them, and of no other, once the manager is back", func() {
		var missed []string
		for _, pod := range maroon.pods("missed") {
			missed = append(missed, pod.Name)
		}
		Eventually(maroon.strays).Should(ConsistOf(missed))
		Expect(consumer.mustKubectl("describe", "pod", "-n", maroon.namespace, missed[0])).To(MatchRegexp(
			`Warning +OnLocalNode .* podOffloadingStrategy is Remote, but the pod is on the local node ` + ordinary))
	})

	It("has them go to the provider when they are made again, as the event says", func() {
		bound(eu)
		consumer.awaitPolicy(maroon.namespace)
		consumer.mustKubectl("delete", "pods", "-n", maroon.namespace, "-l", "app=missed")
		maroon.rolledOut("missed")
		maroon.bothSidesAgree()
		Expect(consumer.nodesOf(maroon.namespace)).To(And(HaveLen(9), HaveEach(virtualNode(eu.Name()))))
	})
})

// strays returns the names of the pods with an event that they are on a local node.
func (t *team) strays() ([]string, error) {
	var events corev1.EventList
	err := consumer.List(ctx, &events, client.InNamespace(t.namespace), client.MatchingFields{"reason": unscheduledpod.ReasonOnLocalNode})
	var names []string
	for i := range events.Items {
		names = append(names, events.Items[i].InvolvedObject.Name)
	}
	return names, err
}

// webhookPort is where the manager serves the webhook of a consumer before Kubernetes 1.36.
var webhookPort int

// webhookFolder is the manager's $TMPDIR, where the certificate is mounted.
func webhookFolder() string { return filepath.Join(directory(), "webhook") }

// installWebhook creates what is shipped for such a consumer.
func (c *testCluster) installWebhook() {
	GinkgoHelper()
	_, port, err := net.SplitHostPort(freeAddress())
	Expect(err).NotTo(HaveOccurred())
	webhookPort, err = strconv.Atoi(port)
	Expect(err).NotTo(HaveOccurred())
	c.install("config/webhook", func(object *unstructured.Unstructured) { webhook.Redirect(object, webhookPort) })
	relative, err := filepath.Rel(os.TempDir(), podadmission.DefaultCertDir())
	Expect(err).NotTo(HaveOccurred())
	folder := filepath.Join(webhookFolder(), relative)
	Expect(os.RemoveAll(folder)).To(Succeed())
	Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
	stop, err := webhook.Mount(ctx, c.api, systemNamespace, folder)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
}
