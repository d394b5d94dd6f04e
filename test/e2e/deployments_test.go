//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var _ = Describe("A Deployment in a provider", Ordered, Label("pods"), func() {
	var green *team

	BeforeAll(func() { green = newTeam("green", eu) })

	It("becomes ready, with the ConfigMap and the Secret that it needs", short, func() {
		consumer.create(newDeployment(green.namespace, "web", 2))
		green.rolledOut("web")
		green.bothSidesAgree()
		Expect(consumer.nodesOf(green.namespace)).To(HaveEach(virtualNode(eu.Name())), "the policy keeps the pods to the provider")
		Expect(read(eu, green.remoteOf(greetingIn("")), &corev1.ConfigMap{})()).To(
			HaveField("Data", HaveKeyWithValue("word", "hello")))
		Expect(read(eu, green.remoteOf(passwordIn("")), &corev1.Secret{})()).To(
			HaveField("Data", HaveKeyWithValue("word", []byte("secret"))))
	})

	It("is updated pod by pod", func() {
		before := green.pods("web")
		consumer.mustKubectl("set", "env", "deployment/web", "-n", green.namespace, "VERSION=2")
		green.rolledOut("web")
		green.bothSidesAgree()
		for _, pod := range green.pods("web") {
			Expect(before).NotTo(ContainElement(HaveField("UID", pod.UID)), "a pod of the old version is left")
			Expect(green.remotePod(&pod)()).To(HaveField("Spec.Containers",
				ContainElement(HaveField("Env", ContainElement(corev1.EnvVar{Name: "VERSION", Value: "2"})))))
		}
	})

	It("is scaled up and down", func() {
		for _, replicas := range []string{"4", "1", "2"} {
			consumer.mustKubectl("scale", "deployment/web", "-n", green.namespace, "--replicas="+replicas)
			green.rolledOut("web")
			green.bothSidesAgree()
		}
		Expect(green.remotePods()).To(HaveLen(2))
	})

	It("gets another pod for one that is evicted", func() {
		pod := green.pods("web")[0]
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		Expect(consumer.SubResource("eviction").Create(ctx, &pod, eviction)).To(Succeed())
		Eventually(consumer.pod(&pod)).Should(beGone(), "the evicted pod goes in the consumer")
		Expect(green.remotePod(&pod)()).To(beGone(), "a local pod outlives the remote one")
		green.rolledOut("web")
		green.bothSidesAgree()
	})

	It("gets another pod for one that is deleted with a grace period of its own", func() {
		pod := green.pods("web")[0]
		consumer.mustKubectl("delete", "pod", pod.Name, "-n", pod.Namespace, "--grace-period=1", "--timeout=60s")
		Expect(green.remotePod(&pod)()).To(beGone(), "a local pod outlives the remote one")
		green.rolledOut("web")
		green.bothSidesAgree()
	})

	It("leaves no orphan when a pod is deleted by force", func() {
		pod := green.pods("web")[0]
		consumer.mustKubectl("delete", "pod", pod.Name, "-n", pod.Namespace, "--force", "--grace-period=0")
		Expect(consumer.pod(&pod)()).To(beGone(), "force does not wait for anybody")
		Eventually(green.remotePod(&pod)).Should(beGone(), "the remote pod of a local one that is gone is deleted")
		green.rolledOut("web")
		green.bothSidesAgree()
	})

	It("leaves a virtual node that is drained, and comes back", func() {
		node := virtualNode(eu.Name())
		DeferCleanup(func() { consumer.mustKubectl("uncordon", node) })
		consumer.mustKubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s")
		Eventually(green.remotePods).Should(BeEmpty(), "nothing runs in the provider any more")
		consumer.mustKubectl("uncordon", node)
		green.rolledOut("web")
		green.bothSidesAgree()
	})

	It("goes with its namespace, first in the provider and then in the consumer", short, func() {
		local := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: green.namespace}}
		Expect(consumer.Delete(ctx, local)).To(Succeed())
		Eventually(read(consumer, local, &corev1.Namespace{})).Should(beGone(), "the namespace is deleted")
		Expect(read(eu, green.remoteNamespace(), &corev1.Namespace{})()).To(beGone(), "a local namespace outlives the remote one")
		Expect(green.remotePods()).To(BeEmpty())
	})
})

func newDeployment(namespace, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: sleepingSpec()},
		},
	}
}
