//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("Namespaces", Ordered, short, func() {
	var blue *team

	BeforeAll(func() { blue = newTeam("blue", eu) })

	It("have one in the selected provider, with Spillway's mark", func() {
		Expect(read(eu, blue.remoteNamespace(), &corev1.Namespace{})()).To(And(
			HaveField("Labels", HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBySpillway)),
			HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationLocalName, blue.namespace)),
		))
	})

	It("have none in a provider that is not selected", func() {
		needReal()
		Expect(read(dc, blue.remoteNamespace(), &corev1.Namespace{})()).To(beGone())
	})

	It("lose the remote one, with all in it, when the offloading is deleted", func() {
		eu.create(greetingIn(blue.remote))
		Expect(consumer.Delete(ctx, blue.offloading())).To(Succeed())
		Eventually(read(consumer, blue.offloading(), &v1alpha1.NamespaceOffloading{})).Should(beGone(), "the offloading is undone")
		Expect(read(eu, blue.remoteNamespace(), &corev1.Namespace{})()).To(beGone(), "the offloading outlives the remote namespace")
		Expect(consumer.mustKubectl("get", "namespace", blue.namespace)).To(ContainSubstring("Active"))
	})
})
