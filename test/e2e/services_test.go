//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Services and NetworkPolicies of an offloaded namespace", Ordered, func() {
	var olive *team

	BeforeAll(func() {
		needReal()
		olive = newTeam("olive", dc)
	})

	It("are there before the pods that a policy selects", func() {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: olive.namespace, Name: "guard"}, Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		}}
		guarded := newPod(olive.namespace, "guarded", podSpec("exit 0"))
		guarded.Spec.RestartPolicy = corev1.RestartPolicyNever
		guarded.Labels = map[string]string{"app": "guarded"}
		consumer.create(policy, guarded)
		Eventually(olive.remotePod(guarded)).Should(Not(BeNil()))
		remote, pod := &networkingv1.NetworkPolicy{}, olive.remoteOf(guarded)
		Expect(dc.Get(ctx, client.ObjectKeyFromObject(olive.remoteOf(policy)), remote)).To(Succeed())
		Expect(remote.Spec).To(Equal(policy.Spec))
		there, err := dc.pod(pod)()
		Expect(err).NotTo(HaveOccurred())
		Expect(remote.CreationTimestamp.Time).NotTo(BeTemporally(">", there.CreationTimestamp.Time))
	})

	It("lead a pod to another one in the provider, by its name", func() {
		browser := fetcher(olive.namespace, "client")
		consumer.create(serverIn(olive.namespace), serviceIn(olive.namespace), browser)
		Eventually(consumer.pod(browser)).Should(HaveField("Status.Phase", corev1.PodSucceeded), "the client has fetched the page")
		Expect(dc.logs(olive.remoteOf(browser))()).To(ContainSubstring(page))
	})
})
