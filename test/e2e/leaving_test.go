//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A namespace with pods in a provider", Ordered, Label("pods"), func() {
	var coral *team

	BeforeAll(func() {
		coral = newTeam("coral", eu)
		consumer.create(newDeployment(coral.namespace, "web", 2))
		coral.rolledOut("web")
		DeferCleanup(ensureBound, eu) // for the specs that follow, even if these fail
	})

	It("gets them evicted when the provider is unbound, and waits", func() {
		binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: eu.Name()}}
		Expect(consumer.Delete(ctx, binding)).To(Succeed())
		Eventually(read(consumer, binding, &v1alpha1.ClusterBinding{})).Should(beGone(), "the provider is unbound")
		Expect(coral.remotePods()).To(BeEmpty(), "a binding outlives its remote pods")
		Expect(read(eu, coral.remoteNamespace(), &corev1.Namespace{})()).To(beGone(), "a binding outlives its remote namespaces")
		Expect(read(consumer, virtualNodeOf(eu), &corev1.Node{})()).To(beGone(), "a binding outlives its virtual node")
		Eventually(consumer.nodesOf).WithArguments(coral.namespace).Should(HaveEach(BeEmpty()), "no pod is on a node that is gone")
	})

	It("gets them back when the provider is bound again", func() {
		ensureBound(eu)
		coral.rolledOut("web")
		coral.bothSidesAgree()
	})

	It("brings them home when it is offloaded no more", func() {
		Expect(consumer.Delete(ctx, coral.offloading())).To(Succeed())
		Eventually(read(consumer, coral.offloading(), &v1alpha1.NamespaceOffloading{})).Should(beGone(), "the offloading is undone")
		Expect(read(eu, coral.remoteNamespace(), &corev1.Namespace{})()).To(beGone(), "the offloading outlives the remote namespace")
		coral.rolledOut("web")
		Eventually(consumer.nodesOf).WithArguments(coral.namespace).Should(
			And(HaveLen(2), HaveEach(Not(Equal(virtualNode(eu.Name()))))), "the pods run on nodes of the consumer's own")
	})
})
