package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The capacity of a virtual node", func() {
	It("counts no node that keeps pods off, and the binding says if none is left", func() {
		tainted := providerNode("4", "8Gi")
		tainted.Spec.Taints = []corev1.Taint{{Key: "example.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
		us.create(tainted)
		free := providerNode("2", "4Gi")
		free.Labels = map[string]string{corev1.LabelArchStable: "riscv64"}
		us.create(free)
		cb := home.bind(us, unique("spec"))
		home.bindingIsReady(cb)
		Eventually(home.offer(cb)).Should(Equal("cpu 2, memory 4Gi, pods 110"))
		Expect(home.virtualNode(cb)).To(And(HaveField("Labels", HaveKeyWithValue(corev1.LabelArchStable, "riscv64")), HaveField("Status.NodeInfo.Architecture", "riscv64")))

		change(us, free, func(node *corev1.Node) {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "example.com/away", Effect: corev1.TaintEffectNoExecute})
		})
		Eventually(home.offer(cb)).Should(Equal("cpu 0, memory 0, pods 0"))
		Eventually(home.condition(cb, v1alpha1.BindingVirtualNodeReady)).Should(isTrue(v1alpha1.ReasonNoUsableNodes, "2 tainted", "example.com/away"))
		Expect(home.condition(cb, v1alpha1.BindingReady)()).To(isTrue(v1alpha1.ReasonReady), "namespaces can be offloaded all the same")

		us.limit("tolerationKeys", "example.com/gpu")
		DeferCleanup(func() { us.limit("tolerationKeys", "") })
		Eventually(home.offer(cb)).Should(Equal("cpu 4, memory 8Gi, pods 110"), "pods may tolerate that taint now")
		us.limit("tolerationKeys", "")

		change(us, free, func(node *corev1.Node) { node.Spec.Taints = nil })
		Eventually(home.offer(cb)).Should(Equal("cpu 2, memory 4Gi, pods 110"))
		Eventually(home.condition(cb, v1alpha1.BindingVirtualNodeReady)).Should(isTrue(v1alpha1.ReasonNodeReady))
	})
})
