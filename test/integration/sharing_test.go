package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A provider that is shared", func() {
	It("by two consumers, whose namespaces do not get into each other's way", func() {
		spec := unique("spec")
		here := selecting(labelSpec, spec)
		// As like each other as can be: the same clusterID, the same local names.
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
		Consistently(eu.namespace(name)).Should(HaveField("ResourceVersion", taken.ResourceVersion), "the namespace is that of the first consumer")
		Expect(eu.namespace(remoteName(team))()).To(HaveField("DeletionTimestamp", BeNil()))
		Expect(home.offloading(team)()).To(inPhase(v1alpha1.OffloadingPhaseReady))
	})

	It("by two bindings, of which the second leaves alone what the first has made", func() {
		spec := unique("spec")
		first, second := home.bind(eu, spec, withLabels(region, "first")), home.bind(eu, spec, withLabels(region, "second"))
		home.bindingIsReady(first, second)
		ofFirst := home.offloadNew(selecting(labelSpec, spec, region, "first"))
		ofSecond := home.offloadNew(selecting(labelSpec, spec, region, "second"))
		home.offloadingIsReady(ofFirst, ofSecond)
		Expect(eu.ofBinding(first)()).To(ConsistOf(remoteName(ofFirst)))
		Expect(eu.ofBinding(second)()).To(ConsistOf(remoteName(ofSecond)))

		By("offloading a namespace through both, to the same name")
		change(home, newOffloading(ofFirst, nil), func(nso *v1alpha1.NamespaceOffloading) { nso.Spec.ClusterSelector = selecting(labelSpec, spec) })
		Eventually(home.entry(second, ofFirst)).Should(mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict,
			"consumer "+home.uid, "binding "+first.Spec.ClusterID))
		Eventually(home.offloading(ofFirst)).Should(inPhase(v1alpha1.OffloadingPhaseSomeFailed, second.Spec.ClusterID))

		By("unbinding the second")
		home.drop(second)
		Eventually(home.fetching(second)).Should(absent, "the second binding is deleted")
		Expect(eu.has(remoteName(ofSecond))()).To(BeFalse())
		Expect(eu.namespace(remoteName(ofFirst))()).To(HaveField("DeletionTimestamp", BeNil()))
		Eventually(home.offloading(ofFirst)).Should(And(inPhase(v1alpha1.OffloadingPhaseReady), clustersOf(ConsistOf(first.Spec.ClusterID))))
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
