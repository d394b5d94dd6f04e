package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The virtual node of a binding that is paused", slow, func() {
	It("is Ready again when Kubernetes has taken it for lost and its provider answers, and is otherwise left as it is", func() {
		provided := providerNode("2", "4Gi")
		us.create(provided)
		cb := home.bind(us, unique("spec"))
		home.bindingIsReady(cb)
		Eventually(home.offer(cb)).Should(Equal("cpu 2, memory 4Gi, pods 110"))
		change(home, cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = true })
		Eventually(home.condition(cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonPaused))
		change(home, cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{"example.com/late": "yes"}
		})
		DeferCleanup(change[*v1alpha1.ClusterBinding], home, cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = false })
		grown := provided.DeepCopy()
		grown.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("3")
		Expect(us.Status().Patch(ctx, grown, client.MergeFrom(provided))).To(Succeed())

		node := home.virtualNode(cb)
		lost := node.DeepCopy()
		for i := range lost.Status.Conditions { // As the node controller writes it.
			c := &lost.Status.Conditions[i]
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
		}
		Expect(home.Status().Patch(ctx, lost, client.MergeFrom(node))).To(Succeed())
		stays := And(
			HaveField("Status.Conditions", ContainElement(And(HaveField("Type", corev1.NodeReady), HaveField("Status", corev1.ConditionTrue)))),
			HaveField("Spec", Equal(node.Spec)), HaveField("Labels", Equal(node.Labels)), HaveField("Status.Allocatable", Equal(node.Status.Allocatable)))
		Eventually(now(home, node)).Should(stays)
		Consistently(now(home, node)).Should(HaveField("Status.Allocatable", Equal(node.Status.Allocatable)))

		change(home, cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = false })
		home.bindingIsReady(cb)
		Eventually(home.offer(cb)).Should(Equal("cpu 3, memory 4Gi, pods 110"), "what has changed meanwhile shows")
		Expect(now(home, node)()).To(HaveField("Labels", HaveKeyWithValue("example.com/late", "yes")))
	})
})
