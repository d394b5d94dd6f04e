package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("Taking back, in order", func() {
	var (
		spec string
		here *v1alpha1.ClusterSelector
		toEU *v1alpha1.ClusterBinding
	)

	BeforeEach(func() {
		spec = unique("spec")
		here = selecting(labelSpec, spec)
		toEU = home.bind(eu, spec)
	})

	// terminating asserts what a user sees of an offloading whose remote namespace is not deleted yet.
	terminating := func(team string) {
		GinkgoHelper()
		Eventually(home.offloading(team)).Should(And(
			HaveField("OffloadingPhase", v1alpha1.OffloadingPhaseTerminating),
			HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonDeletingNamespaces, toEU.Spec.ClusterID+": "+remoteName(team)))),
			remoteCondition(toEU, v1alpha1.RemoteNamespaceRequired, isFalse(v1alpha1.ReasonClusterNotSelected)),
		), "the remote namespace is held")
		Eventually(home.entry(toEU, team)).Should(mapped(v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired))
		Eventually(eu.namespace(remoteName(team))).Should(HaveField("DeletionTimestamp", Not(BeNil())))
		home.passes(here)
		Expect(home.offloading(team)()).To(HaveField("OffloadingPhase", v1alpha1.OffloadingPhaseTerminating), "the finalizer must outlive the remote namespace")
	}

	It("a NamespaceOffloading: the remote namespace, then the finalizer", func() {
		team := home.newNamespace()
		nso := home.offload(team, here)
		home.offloadingIsReady(team)
		phases := home.phasesOf(team)
		eu.hold(remoteName(team))

		home.drop(nso)
		terminating(team)
		eu.release(remoteName(team))
		Eventually(home.fetching(nso)).Should(absent, "the remote namespace has gone")
		Expect(eu.has(remoteName(team))()).To(BeFalse())
		Expect(phases.all()).To(HaveExactElements("Ready/Ready", "Terminating/DeletingNamespaces"))
		Expect(home.namespace(team)()).To(HaveField("DeletionTimestamp", BeNil()), "the local namespace stays")
		Eventually(home.counts(toEU)).Should(Equal("1/1"), "that of the witness is left")
	})

	It("the local Namespace: it waits for the remote one", slow, func() {
		team := home.offloadNew(here)
		home.offloadingIsReady(team)
		eu.hold(remoteName(team))

		home.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
		terminating(team)
		Expect(home.has(team)()).To(BeTrue(), "the local namespace waits")
		eu.release(remoteName(team))
		Eventually(home.has(team)).Should(BeFalse(), "the remote namespace has gone")
		Expect(eu.has(remoteName(team))()).To(BeFalse())
	})

	It("a NamespaceOffloading whose remote namespace hangs: the time that it may take is bounded", slow, func() {
		team := home.offloadNew(here)
		home.offloadingIsReady(team)
		home.bindingIsReady(toEU)
		eu.hold(remoteName(team))
		nso := newOffloading(team, nil)
		home.drop(nso)
		Eventually(home.entry(toEU, team)).Should(mapped(v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired))
		deleted, err := now(home, nso)()
		Expect(err).NotTo(HaveOccurred())
		change(home, toEU, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Unreachable.DeletionTimeout = &metav1.Duration{Duration: time.Since(deleted.DeletionTimestamp.Time) + 2*time.Second}
		})
		Eventually(home.fetching(nso)).Should(absent, "the time is up, though the provider answers")
		Eventually(home.eventsAbout(nso)).Should(ContainElement(And(HaveField("Reason", "LeftBehind"), noting(remoteName(team)))))
		Expect(eu.namespace(remoteName(team))()).To(going, "it is held there")
		change(home, toEU, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Unreachable.DeletionTimeout = nil })
		eu.release(remoteName(team))
		Eventually(eu.has(remoteName(team))).Should(BeFalse())
	})

	It("a ClusterBinding: namespaces, then the map, then node and lease", func() {
		team := home.offloadNew(here)
		home.offloadingIsReady(team)
		home.bindingIsReady(toEU)
		home.renewed(toEU) // There is a Lease.
		backup := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: remoteName(team), Name: "backup", Finalizers: []string{holdFinalizer}}}
		eu.make(backup)
		steps := home.drainedOf(toEU)

		home.drop(toEU)
		Eventually(home.condition(toEU, v1alpha1.BindingDrained)).Should(
			isFalse(v1alpha1.ReasonDeletingNamespaces, "1 remote namespace", remoteName(team)), "the remote namespace is held")
		held := []string{"NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances", "NamespaceFinalizersRemaining: ", holdFinalizer + " in 1 resource instances"}
		Eventually(home.condition(toEU, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonDeletingNamespaces, held...), "the provider says by what")
		Expect(home.condition(toEU, v1alpha1.BindingReady)()).To(isFalse(v1alpha1.ReasonDeleting, v1alpha1.BindingDrained))
		Eventually(home.entry(toEU, team)).Should(mapped(v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired))
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseNoClusterSelected),
			remoteCondition(toEU, v1alpha1.RemoteNamespaceRequired, isFalse(v1alpha1.ReasonClusterNotSelected))))
		Expect(home.virtualNode(toEU).Spec.Unschedulable).To(BeTrue(), "the node is cordoned, and stays until the namespaces have gone")

		change(eu, backup, func(backup *corev1.ConfigMap) { backup.Finalizers = nil })
		Eventually(home.fetching(toEU)).Should(absent, "the remote namespace has gone")
		Expect(eu.ofBinding(toEU)()).To(BeEmpty())
		Expect(steps.all()).To(HaveExactElements(v1alpha1.ReasonCordoning, v1alpha1.ReasonDeletingNamespaces,
			v1alpha1.ReasonDeletingNamespaceMap, v1alpha1.ReasonDeletingNode, v1alpha1.ReasonDeletingLease))
		home.nothingOf(toEU)
		Expect(eu.leasesOf(toEU)()).To(BeEmpty())
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseNoClusterSelected), clustersOf(BeEmpty())))
	})

	It("a ClusterBinding with deletionPolicy Orphan, which leaves the namespaces", func() {
		team := home.offloadNew(here)
		home.offloadingIsReady(team)
		home.bindingIsReady(toEU)
		change(home, toEU, func(cb *v1alpha1.ClusterBinding) { cb.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		steps := home.drainedOf(toEU)

		home.drop(toEU)
		Eventually(home.fetching(toEU)).Should(absent, "nothing has to be waited for")
		Expect(eu.namespace(remoteName(team))()).To(HaveField("DeletionTimestamp", BeNil()), "the namespace is orphaned, not deleted")
		Expect(steps.all()).To(HaveExactElements(v1alpha1.ReasonCordoning, v1alpha1.ReasonDeletingNamespaceMap,
			v1alpha1.ReasonDeletingNode, v1alpha1.ReasonDeletingLease))
		Expect(eu.leasesOf(toEU)()).To(BeEmpty())
		Eventually(home.eventsAbout(toEU)).Should(ContainElement(And(HaveField("Reason", "LeftBehind"), HaveField("Note", ContainSubstring(remoteName(team))))))
		home.nothingOf(toEU)
		eu.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: remoteName(team)}})
	})
})

var _ = Describe("Taking back from a provider that cannot be reached", slow, func() {
	var (
		spec string
		door *gate
		cut  *v1alpha1.ClusterBinding
		team string
	)

	BeforeEach(func() {
		spec = unique("spec")
		door = newGate(us)
		cut = home.bindWith(door.kubeconfig(us), "cut", spec)
		team = home.offloadNew(selecting(labelSpec, spec))
		home.offloadingIsReady(team)
		home.bindingIsReady(cut)
		door.shut()
		Eventually(home.condition(cut, v1alpha1.BindingConnected)).Should(isFalse(v1alpha1.ReasonUnreachable), "the provider is cut off")
	})

	waiting := func() {
		GinkgoHelper()
		Eventually(home.condition(cut, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonProviderUnreachable,
			"waits for the provider", "1 remote namespace ("+remoteName(team)+")"), "the provider is cut off")
	}

	// endsSoon makes the deletion time out in two seconds. That is late enough to see it waiting.
	endsSoon := func(deleted client.Object) {
		GinkgoHelper()
		change(home, cut, func(cb *v1alpha1.ClusterBinding) {
			timeout := time.Since(deleted.GetDeletionTimestamp().Time) + 2*time.Second
			cb.Spec.Unreachable.DeletionTimeout = &metav1.Duration{Duration: timeout}
		})
	}

	It("waits for it, and says so, until it is back", func() {
		home.drop(newOffloading(team, nil))
		held := And(HaveField("OffloadingPhase", v1alpha1.OffloadingPhaseTerminating),
			HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonProviderUnreachable, cut.Spec.ClusterID, v1alpha1.ReasonUnreachable))))
		Eventually(home.offloading(team)).Should(held, "the provider is cut off")
		home.drop(cut)
		waiting()
		Consistently(home.offloading(team)).Should(held, "nobody has said how long to wait")

		door.reopen()
		Eventually(home.fetching(cut)).Should(absent, "the provider is back")
		Eventually(home.fetching(newOffloading(team, nil))).Should(absent, "the provider is back")
		Expect(us.has(remoteName(team))()).To(BeFalse())
	})

	It("holds up no offloading for which it was never asked for anything", func() {
		home.offloadNew(selecting(labelSpec, spec)) // Its map changes, and nobody can read that.
		asks := func() (int, error) {
			nsm, err := now(home, &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: cut.Name}})()
			return len(nsm.Spec.DesiredMapping), err
		}
		Eventually(asks).Should(Equal(2))
		refused := home.offload(metav1.NamespacePublic, selecting(labelSpec, spec))
		Eventually(home.offloading(refused.Namespace)).Should(inPhase(v1alpha1.OffloadingPhaseRefused))
		home.drop(refused)
		Eventually(home.fetching(refused)).Should(absent, "such a namespace is never offloaded")

		change(home, cut, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = true })
		later := home.offload(home.newNamespace(), selecting(labelSpec, spec))
		Eventually(home.offloading(later.Namespace)).Should(inPhase(v1alpha1.OffloadingPhaseInProgress))
		home.drop(later)
		Eventually(home.fetching(later)).Should(absent, "a binding that is paused asks for nothing new")
		Expect(asks()).To(Equal(2))
		change(home, cut, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = false })
	})

	It("holds up one that was asked for meanwhile, and says what for", func() {
		asked := home.offload(home.newNamespace(), selecting(labelSpec, spec))
		Eventually(home.offloading(asked.Namespace)).Should(inPhase(v1alpha1.OffloadingPhaseInProgress))
		Eventually(func() (v1alpha1.NamespaceMapSpec, error) {
			nsm, err := now(home, &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: cut.Name}})()
			return nsm.Spec, err
		}).Should(HaveField("DesiredMapping", ContainElement(HaveField("Namespace", asked.Namespace))))
		home.drop(asked)
		held := HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonProviderUnreachable, "with remote namespace "+remoteName(asked.Namespace)+" left")))
		Eventually(home.offloading(asked.Namespace)).Should(held)
		Consistently(home.offloading(asked.Namespace)).Should(held, "what was asked for may be there")
		door.reopen()
		Eventually(home.fetching(asked)).Should(absent, "the provider is back")
		Expect(us.has(remoteName(asked.Namespace))()).To(BeFalse())
	})

	It("gives up after the deletionTimeout, and says what is left behind", func() {
		home.drop(cut)
		waiting()
		endsSoon(cut)
		Eventually(home.fetching(cut)).Should(absent, "the time is up")
		Eventually(home.eventsAbout(cut)).Should(ContainElements(And(HaveField("Reason", "LeftBehind"), noting(remoteName(team))),
			And(HaveField("Reason", "LeftBehind"), noting("the Lease stays in provider "+cut.Spec.ClusterID))))
		home.nothingOf(cut)
		Expect(us.leasesOf(cut)()).To(HaveLen(1))
		Expect(us.namespace(remoteName(team))()).To(HaveField("DeletionTimestamp", BeNil()))
		us.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: remoteName(team)}})
	})

	It("lets an offloading go after the deletionTimeout, and cleans up when the provider is back", func() {
		nso := newOffloading(team, nil)
		home.drop(nso)
		Eventually(home.offloading(team)).Should(HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonProviderUnreachable))))
		Expect(home.fetching(nso)()).To(Succeed())
		endsSoon(nso)
		Eventually(home.fetching(nso)).Should(absent, "the time is up")
		Expect(us.has(remoteName(team))()).To(BeTrue())
		door.reopen()
		Eventually(us.has(remoteName(team))).Should(BeFalse(), "the binding still exists, so what it has made is cleaned up")
	})
})

var _ = Describe("Unbinding a provider that was never connected", func() {
	DescribeTable("does not hang", func(reason string, kubeconfig func() []byte) {
		spec := unique("spec")
		cb := home.bindWith(kubeconfig(), "never", spec)
		Eventually(home.condition(cb, v1alpha1.BindingReady)).Should(isFalse(reason))
		team, gone := home.newNamespace(), home.newNamespace()
		for _, namespace := range []string{team, gone} {
			home.offload(namespace, selecting(labelSpec, spec))
			Eventually(home.offloading(namespace)).Should(And(inPhase(v1alpha1.OffloadingPhaseInProgress, reason),
				remoteCondition(cb, v1alpha1.RemoteNamespaceReady, isFalse(v1alpha1.ReasonProviderUnreachable, reason))))
		}
		home.drop(newOffloading(gone, nil))
		Eventually(home.fetching(newOffloading(gone, nil))).Should(absent, "nothing was ever made for it")
		home.drop(cb)
		Eventually(home.fetching(cb)).Should(absent, "nothing was ever made there")
		home.nothingOf(cb)
	},
		Entry("because nobody listens", slow, v1alpha1.ReasonUnreachable,
			server(func(cluster *clientcmdapi.Cluster) { cluster.Server = "https://127.0.0.1:1" })),
		Entry("because the Secret is no good", v1alpha1.ReasonInvalidKubeconfig, func() []byte { return []byte("nonsense") }),
		Entry("because the token is no good", slow, v1alpha1.ReasonUnauthorized, user(func(*clientcmdapi.AuthInfo) {})),
		Entry("because a right is missing", v1alpha1.ReasonForbidden, func() []byte { return eu.lacking("pods", "list", "watch") }),
	)
})

// nothingOf asserts that nothing of a deleted binding is left in the consumer.
func (c *controlPlane) nothingOf(cb *v1alpha1.ClusterBinding) {
	GinkgoHelper()
	for _, object := range []client.Object{
		&v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: cb.Name}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: cb.VirtualNodeName()}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: cb.VirtualNodeName()}},
	} {
		Expect(c.fetching(object)()).To(absent, "%T", object)
	}
}
