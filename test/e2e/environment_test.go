//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The base of the other specs: without Spillway, straight in the provider.
var _ = Describe("The provider with a real node", Ordered, func() {
	namespace := "straight"

	BeforeAll(func() {
		needReal()
		dc.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "baseline"},
		}})
		dc.create(greetingIn(namespace), passwordIn(namespace))
	})

	It("runs a container that reads a ConfigMap and a Secret, and says how it ended", func() {
		pod := reader(namespace, "reader", 7)
		dc.create(pod)
		Eventually(dc.pod(pod)).Should(HaveField("Status.Phase", corev1.PodFailed), "the container ends with 7")
		Expect(dc.pod(pod)()).To(endedWith(7))
		Expect(dc.logs(pod)()).To(And(
			ContainSubstring("from env: hello/secret"),
			ContainSubstring("from files: hello/secret"),
		))
	})

	It("serves logs to kubectl", func() {
		Expect(dc.mustKubectl("logs", "-n", namespace, "reader")).To(ContainSubstring("from env: hello/secret"))
	})

	It("leads from a Service's name to a pod behind it", func() {
		pod := fetcher(namespace, "client")
		dc.create(serverIn(namespace), serviceIn(namespace), pod)
		Eventually(dc.pod(pod)).Should(HaveField("Status.Phase", corev1.PodSucceeded), "the client has fetched the page")
		Expect(dc.logs(pod)()).To(ContainSubstring(page))
	})

	It("ends a container gracefully, in the time that it is given", func() {
		pod := sleeper(namespace, "sleeper")
		dc.create(pod)
		Eventually(dc.pod(pod)).Should(beReady(), "the container runs")
		Expect(dc.Delete(ctx, pod, client.GracePeriodSeconds(10))).To(Succeed())
		Eventually(dc.pod(pod)).Should(beGone(), "its shell traps SIGTERM and ends at once")
	})
})
