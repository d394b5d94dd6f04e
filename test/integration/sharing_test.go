package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A provider that is shared", func() {
	It("by two consumers, whose namespaces do not get into each other's way", func() {
		spec := unique("spec")
		here := selecting(labelSpec, spec)
		// As similar as possible: the same clusterID, the same local names.
		ours := home.bind(eu, spec)
		theirs := newBinding(ours.Name, withLabels(labelSpec, spec))
		other.putKubeconfig(theirs.Name, eu.secondConsumer())
		other.create(theirs)
		team, wanted := home.newNamespace(), home.newNamespace()
		other.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
		other.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: wanted}})

		home.offload(team, here)
		name := unique("wanted")
		home.offload(wanted, here, selectedName(name))
		home.offloadingIsReady(team, wanted)
		other.offload(team, here)
		conflicting := other.offload(wanted, here, selectedName(name))
		other.offloadingIsReady(team)

		By("telling each other's namespaces apart")
		Expect(eu.namespace(remoteName(team))()).To(HaveField("Labels", HaveKeyWithValue(v1alpha1.LabelOrigin, home.uid)))
		Expect(eu.namespace(team + "-" + otherID)()).To(HaveField("Labels", HaveKeyWithValue(v1alpha1.LabelOrigin, other.uid)))
		Eventually(other.entry(theirs, wanted)).Should(mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict,
			"belongs to Spillway's consumer "+home.uid, "binding "+ours.Spec.ClusterID, "local namespace "+wanted))
		taken, err := eu.namespace(name)()
		Expect(err).NotTo(HaveOccurred())

		By("taking back what one of them has made")
		other.drop(conflicting)
		Eventually(other.fetching(conflicting)).Should(absent, "nothing was made for it")
		other.drop(theirs)
		Eventually(other.fetching(theirs)).Should(absent, "the second consumer unbinds the provider")
		Expect(eu.has(team + "-" + otherID)()).To(BeFalse())
		Expect(eu.namespace(name)()).To(HaveField("ResourceVersion", taken.ResourceVersion), "the namespace is that of the first consumer")
		Expect(eu.namespace(remoteName(team))()).To(HaveField("DeletionTimestamp", BeNil()))
		Expect(home.offloading(team)()).To(inPhase(v1alpha1.OffloadingPhaseReady))
	})

	It("by two bindings, of which the first comes first", slow, func() {
		spec, mount := unique("spec"), unique("mount")
		eu.create(providerNode("8", "8Gi"))
		half := func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{corev1.ResourceCPU: intstr.FromString("50%")}
		}
		first := home.bind(eu, spec, withLabels(region, "first"), half)
		home.bindingIsReady(first)
		// If both are created in the same second, the first by name is the older one.
		second := home.bindWith(eu.providerKubeconfig(), first.Name+"-z", spec, withLabels(region, "second"), withMount(mount))
		home.bindingIsReady(first, second)
		Eventually(home.condition(second, v1alpha1.BindingShared)).Should(isTrue(v1alpha1.ReasonProviderSharedWith, "ClusterBinding "+first.Name))
		Expect(find(owner(first).Status.Conditions, v1alpha1.BindingShared)).Error().To(HaveOccurred(), "the older one is not concerned")
		Expect(owner(second).Status.RemoteClusterAuthorities).To(And(HaveLen(1), Equal(owner(first).Status.RemoteClusterAuthorities)))
		Eventually(home.offer(first)).Should(HavePrefix("cpu 4, memory 8Gi"))
		Eventually(home.offer(second)).Should(Equal("cpu 4, memory 0, pods 0"), "it offers what the first leaves")
		Eventually(home.condition(second, v1alpha1.BindingVirtualNodeReady)).Should(isTrue(v1alpha1.ReasonNodeReady, "has no capacity for pods: ClusterBinding "+first.Name))
		Eventually(home.eventsAbout(second)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonProviderSharedWith), HaveField("Type", corev1.EventTypeWarning))))

		By("offloading a namespace through each")
		ofFirst := home.offloadNew(selecting(labelSpec, spec, region, "first"))
		ofSecond := home.offloadNew(selecting(labelSpec, spec, region, "second"))
		home.offloadingIsReady(ofFirst, ofSecond)
		Expect(eu.ofBinding(first)()).To(ConsistOf(remoteName(ofFirst)))
		Expect(eu.ofBinding(second)()).To(ConsistOf(remoteName(ofSecond), mount))

		By("offloading one through both")
		change(home, newOffloading(ofFirst, nil), func(nso *v1alpha1.NamespaceOffloading) { nso.Spec.ClusterSelector = selecting(labelSpec, spec) })
		both := home.offloadNew(selecting(labelSpec, spec))
		home.offloadingIsReady(both, ofFirst)
		for _, namespace := range []string{both, ofFirst} {
			Consistently(home.offloading(namespace)).Should(And(inPhase(v1alpha1.OffloadingPhaseReady), clustersOf(ConsistOf(first.Spec.ClusterID))))
		}
		Expect(eu.ofBinding(second)()).To(ConsistOf(remoteName(ofSecond), mount))
		Expect(home.entry(second, both)()).Error().To(HaveOccurred(), "the map of the second says nothing about it")

		By("running a pod of it on the second node, which has a mount namespace")
		home.takesPods(both)
		eu.takesPods(mount)
		local := home.runPod(second, both)
		remote := eu.remotePod(second, local)
		Expect(remote.Namespace).To(Equal(mount))
		Expect(home.Delete(ctx, local, atOnce)).To(Succeed())
		Eventually(eu.fetching(remote)).Should(absent)

		By("unbinding the first")
		home.drop(first)
		Eventually(home.fetching(first)).Should(absent, "the first binding is deleted")
		for _, namespace := range []string{both, ofFirst} {
			Eventually(home.offloading(namespace)).Should(And(inPhase(v1alpha1.OffloadingPhaseReady), clustersOf(ConsistOf(second.Spec.ClusterID))))
		}
		Eventually(home.offer(second)).Should(HavePrefix("cpu 8, memory 8Gi"))
		Eventually(func() error {
			_, err := find(owner(second).Status.Conditions, v1alpha1.BindingShared)
			return err
		}).Should(HaveOccurred(), "it shares the provider with nobody")
		Expect(eu.namespace(remoteName(ofSecond))()).To(HaveField("DeletionTimestamp", BeNil()))
	})

	It("by two bindings, if one authority vouches for both", slow, func() {
		spec := unique("spec")
		eu.create(providerNode("8", "8Gi"))
		first := home.bind(eu, spec)
		there := newAddress() // It has a certificate of its own.
		there.lead(eu)
		second := home.bindWith(there.kubeconfig(), first.Name+"-z", spec)
		home.bindingIsReady(first, second)
		for cb, other := range map[*v1alpha1.ClusterBinding]*v1alpha1.ClusterBinding{first: second, second: first} {
			Eventually(home.condition(cb, v1alpha1.BindingShared)).Should(is(metav1.ConditionUnknown, v1alpha1.ReasonIdentityNotProven, "ClusterBinding "+other.Name+" "))
			Eventually(home.offer(cb)).Should(HavePrefix("cpu 8, memory 8Gi"), "neither takes anything from the other")
		}

		By("leading the second to the address of the first")
		home.putKubeconfig(second.Name, eu.providerKubeconfig())
		Eventually(home.condition(second, v1alpha1.BindingShared)).Should(isTrue(v1alpha1.ReasonProviderSharedWith, "ClusterBinding "+first.Name))
		Eventually(home.offer(second)).Should(HavePrefix("cpu 0"))
		Eventually(func() error {
			_, err := find(owner(first).Status.Conditions, v1alpha1.BindingShared)
			return err
		}).Should(HaveOccurred(), "the older one is not concerned")
	})
})

var _ = Describe("A consumer that does not serve MutatingAdmissionPolicy as v1", func() {
	It("is told by every binding, and by the log", func() {
		cb := other.bindWith(us.secondConsumer(), "us", unique("spec"))
		Eventually(other.condition(cb, v1alpha1.BindingPodAdmission)).Should(isFalse(v1alpha1.ReasonPolicyNotServed,
			"MutatingAdmissionPolicy", "1.36", "no affinity"))
		other.bindingIsReady(cb)
		Expect(output.text()).To(ContainSubstring("WARNING: this cluster does not serve MutatingAdmissionPolicy"))
	})
})
