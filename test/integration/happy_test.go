package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("Offloading namespaces", Ordered, func() {
	var (
		spec       = unique("spec")
		everywhere = selecting(labelSpec, spec)
		inEurope   = selecting(labelSpec, spec, region, "eu")
		inAmerica  = selecting(labelSpec, spec, region, "us")

		toEU, toUS *v1alpha1.ClusterBinding
		team       string // offloaded to eu only
	)

	BeforeAll(func() {
		eu.create(providerNode("16", "64Gi"))
		eu.create(providerNode("4", "16Gi"))
		us.create(providerNode("2", "8Gi"))
		toEU = home.bind(eu, spec, withLabels(region, "eu"), func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.Annotations = map[string]v1alpha1.AnnotationValue{"example.com/contact": "eu-team"}
			cb.Spec.VirtualNode.Taints = []v1alpha1.VirtualNodeTaint{{Key: "example.com/far", Value: "very", Effect: corev1.TaintEffectPreferNoSchedule}}
			cb.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{
				corev1.ResourceCPU:    intstr.FromString("50%"),
				corev1.ResourceMemory: intstr.FromString("48Gi"),
				corev1.ResourcePods:   intstr.FromInt32(1000),
			}
		})
		toUS = home.bind(us, spec, withLabels(region, "us"))
		home.bindingIsReady(toEU, toUS)
		team = home.newNamespace()
	})

	It("says of a binding what there is to say", func() {
		for _, kind := range []struct{ condition, reason string }{
			{v1alpha1.BindingCredentialsValid, v1alpha1.ReasonAccepted},
			{v1alpha1.BindingConnected, v1alpha1.ReasonConnected},
			{v1alpha1.BindingVirtualNodeReady, v1alpha1.ReasonNodeReady},
			{v1alpha1.BindingPodAdmission, v1alpha1.ReasonPolicyServed},
		} {
			Expect(home.condition(toEU, kind.condition)()).To(isTrue(kind.reason))
		}
		current, err := home.binding(toEU.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(current.Status.RemoteClusterUID).To(Equal(eu.uid))
		Expect(current.Status.KubernetesVersion).To(HavePrefix("v1."))
		Expect(current.Status.LastHeartbeatTime).NotTo(BeNil())
		Expect(current.Status.VirtualNodes).To(ConsistOf(v1alpha1.VirtualNodeStatus{Name: "spillway-" + toEU.Name}))
	})

	It("shows the provider as a node, with what is left of its capacity under the caps", func() {
		node := home.virtualNode(toEU)
		Expect(node.Labels).To(And(
			HaveKeyWithValue(v1alpha1.LabelNodeType, v1alpha1.NodeTypeVirtual),
			HaveKeyWithValue(v1alpha1.LabelCluster, toEU.Spec.ClusterID),
			HaveKeyWithValue(region, "eu"),
		))
		Expect(node.Annotations).To(HaveKeyWithValue("example.com/contact", "eu-team"))
		Expect(node.Spec.Taints).To(ContainElements(
			corev1.Taint{Key: v1alpha1.TaintVirtualNode, Value: toEU.Spec.ClusterID, Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: "example.com/far", Value: "very", Effect: corev1.TaintEffectPreferNoSchedule},
		))
		// Two nodes: 20 CPUs capped at half, 80Gi capped at 48Gi, 220 pods.
		Eventually(home.offer(toEU)).Should(Equal("cpu 10, memory 48Gi, pods 220"), "the capacity of the virtual node")
		Eventually(home.offer(toUS)).Should(Equal("cpu 2, memory 8Gi, pods 110"), "the capacity of the virtual node")
	})

	It("follows the nodes of the provider", func() {
		var nodes corev1.NodeList
		Expect(eu.List(ctx, &nodes)).To(Succeed())
		for i := range nodes.Items {
			if node := &nodes.Items[i]; node.Status.Allocatable.Cpu().Value() == 16 {
				change(eu, node, func(node *corev1.Node) { node.Spec.Unschedulable = true })
			}
		}
		Eventually(home.offer(toEU)).Should(Equal("cpu 2, memory 16Gi, pods 110"), "a node is cordoned, which leaves 4 CPUs and 16Gi")
	})

	It("offloads a namespace to where the selector says, and nowhere else", func() {
		// Not by offload: the offloading exists until the namespace is deleted.
		home.make(newOffloading(team, inEurope))
		home.offloadingIsReady(team)

		local, err := home.namespace(team)()
		Expect(err).NotTo(HaveOccurred())
		remote, err := eu.namespace(remoteName(team))()
		Expect(err).NotTo(HaveOccurred())
		Expect(remote.Labels).To(And(
			HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBySpillway),
			HaveKeyWithValue(v1alpha1.LabelOrigin, home.uid),
			HaveKeyWithValue(v1alpha1.LabelBinding, toEU.Spec.ClusterID),
			HaveKeyWithValue("pod-security.kubernetes.io/enforce", "baseline"),
		))
		Expect(remote.Annotations).To(And(
			HaveKeyWithValue(v1alpha1.AnnotationLocalNamespace, team),
			HaveKeyWithValue(v1alpha1.AnnotationLocalName, team),
			HaveKeyWithValue(v1alpha1.AnnotationLocalUID, string(local.UID)),
		))
		Expect(us.has(remoteName(team))()).To(BeFalse(), "us was not selected")
	})

	It("says so in the status of the offloading, of the map and of the binding", func() {
		Expect(home.offloading(team)()).To(And(
			inPhase(v1alpha1.OffloadingPhaseReady, "1 of 1"),
			HaveField("RemoteNamespaceName", remoteName(team)),
			clustersOf(ConsistOf(toEU.Spec.ClusterID)),
			remoteCondition(toEU, v1alpha1.RemoteNamespaceRequired, isTrue(v1alpha1.ReasonClusterSelected)),
			remoteCondition(toEU, v1alpha1.RemoteNamespaceReady, isTrue(v1alpha1.ReasonNamespaceActive)),
		))
		Expect(home.entry(toEU, team)()).To(And(accepted, HaveField("RemoteNamespace", remoteName(team)), HaveField("Since", Not(BeNil()))))
		Eventually(home.counts(toEU)).Should(Equal("1/1"), "the count of remote namespaces")
		Eventually(home.counts(toUS)).Should(Equal("0/0"))
	})

	It("gives new pods of the namespace, and of no other, a toleration", func() {
		Eventually(home.dryRunPod(team)).Should(toleratesVirtualNodes, "the policy should see the offloading")
		Expect(home.dryRunPod("default")()).NotTo(toleratesVirtualNodes)
	})

	It("offloads a labelled namespace everywhere, until the label goes", func() {
		labelled := home.newNamespace(v1alpha1.LabelOffload, v1alpha1.OffloadTrue)
		home.offloadingIsReady(labelled)
		Expect(home.offloading(labelled)()).To(clustersOf(ContainElements(toEU.Spec.ClusterID, toUS.Spec.ClusterID)))
		for _, provider := range []*controlPlane{eu, us} {
			Expect(provider.has(remoteName(labelled))()).To(BeTrue(), provider.Name)
		}
		nso := newOffloading(labelled, nil)
		Expect(home.Get(ctx, client.ObjectKeyFromObject(nso), nso)).To(Succeed())
		Expect(nso.Labels).To(HaveKeyWithValue(v1alpha1.LabelCreatedBy, v1alpha1.CreatedByNamespaceLabel))

		byHand := home.newNamespace(v1alpha1.LabelOffload, "false")
		home.offload(byHand, everywhere)
		home.setLabel(byHand, v1alpha1.OffloadTrue)
		home.offloadingIsReady(byHand)

		home.setLabel(labelled, "false")
		home.setLabel(byHand, "")
		Eventually(home.fetching(nso)).Should(absent, "the label has made this offloading")
		for _, provider := range []*controlPlane{eu, us} {
			Expect(provider.has(remoteName(labelled))()).To(BeFalse(), "the finalizer went before the remote namespace in %s", provider.Name)
		}
		Expect(home.offloading(byHand)()).To(inPhase(v1alpha1.OffloadingPhaseReady), "the label has not made this one")
	})

	It("moves a namespace when its selector changes", func() {
		eu.hold(remoteName(team))
		change(home, newOffloading(team, nil), func(nso *v1alpha1.NamespaceOffloading) { nso.Spec.ClusterSelector = inAmerica })
		Eventually(home.entry(toEU, team)).Should(mapped(v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "no longer needed"))
		Eventually(us.has(remoteName(team))).Should(BeTrue(), "the namespace moves to us")
		Eventually(home.offloading(team)).Should(And(
			inPhase(v1alpha1.OffloadingPhaseReady),
			remoteCondition(toUS, v1alpha1.RemoteNamespaceReady, isTrue(v1alpha1.ReasonNamespaceActive)),
			remoteCondition(toEU, v1alpha1.RemoteNamespaceRequired, isFalse(v1alpha1.ReasonClusterNotSelected)),
			remoteCondition(toEU, v1alpha1.RemoteNamespaceReady, isFalse(v1alpha1.ReasonNotRequired)),
		), "what is not required any more does not count")

		eu.release(remoteName(team))
		Eventually(eu.has(remoteName(team))).Should(BeFalse(), "the namespace leaves eu")
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseReady), clustersOf(ConsistOf(toUS.Spec.ClusterID))))
	})

	It("takes up a binding that joins later, and one whose labels change", func() {
		late := home.bind(eu, spec, withLabels(region, "us"))
		Eventually(eu.has(remoteName(team))).Should(BeTrue(), "the selector selects a binding that has joined")
		Expect(eu.namespace(remoteName(team))()).To(HaveField("Labels", HaveKeyWithValue(v1alpha1.LabelBinding, late.Spec.ClusterID)))

		change(home, late, func(cb *v1alpha1.ClusterBinding) { withLabels(region, "asia")(cb) })
		Eventually(eu.has(remoteName(team))).Should(BeFalse(), "the selector selects the binding no more")
		Eventually(func() map[string]string { return home.virtualNode(late).Labels }).Should(HaveKeyWithValue(region, "asia"))

		change(home, late, func(cb *v1alpha1.ClusterBinding) { withLabels(region, "us")(cb) })
		Eventually(eu.has(remoteName(team))).Should(BeTrue(), "the selector selects the binding again")
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseReady, "2 of 2"),
			clustersOf(ConsistOf(toUS.Spec.ClusterID, late.Spec.ClusterID))))
	})

	It("renews the lease of a node whose provider answers", slow, func() {
		home.isRenewed(time.Now(), toEU)
	})
})

// setLabel sets or removes the label that offloads a namespace.
func (c *controlPlane) setLabel(namespace, value string) {
	GinkgoHelper()
	change(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, func(namespace *corev1.Namespace) {
		if value == "" {
			delete(namespace.Labels, v1alpha1.LabelOffload)
			return
		}
		namespace.Labels[v1alpha1.LabelOffload] = value
	})
}
