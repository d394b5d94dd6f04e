package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
)

var _ = Describe("A namespace that cannot be offloaded", Ordered, func() {
	var (
		spec = unique("spec")
		here = selecting(labelSpec, spec)
		toEU *v1alpha1.ClusterBinding
	)

	BeforeAll(func() {
		toEU = home.bind(eu, spec, withLabels(region, "eu"))
		home.bindingIsReady(toEU)
	})

	It("has a clusterSelector that selects nothing", func() {
		team := home.offloadNew(selecting(labelSpec, spec, region, "mars"))
		Eventually(home.offloading(team)).Should(And(
			inPhase(v1alpha1.OffloadingPhaseNoClusterSelected, "clusterSelector selects no ClusterBinding", "spec.virtualNode.labels"),
			clustersOf(BeEmpty())), "no binding is in that region")
		Expect(eu.has(remoteName(team))()).To(BeFalse())
	})

	DescribeTable("belongs to the cluster or to Spillway", func(namespace string) {
		home.offload(namespace, here)
		Eventually(home.offloading(namespace)).Should(And(
			HaveField("OffloadingPhase", v1alpha1.OffloadingPhaseRefused), HaveField("RemoteNamespaceName", BeEmpty()),
			HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonRefused, "namespace "+namespace+" is a system namespace and is never offloaded")))))
		home.passes(here)
		Expect(eu.has(remoteName(namespace))()).To(BeFalse(), "it is never offloaded")
	},
		Entry("kube-system", metav1.NamespaceSystem),
		Entry("the manager's own, with all credentials in it", manager.DefaultNamespace),
	)

	It("wants a name that the binding does not allow, until it does", func() {
		own, name := unique("spec"), unique("chosen")
		cb := home.bind(eu, own, allowingNames("", v1alpha1.MappingDefaultName))
		home.bindingIsReady(cb)
		byDefault := home.offloadNew(selecting(labelSpec, own))
		home.offloadingIsReady(byDefault)
		team := home.offloadNew(selecting(labelSpec, own), selectedName(name))
		rule := []string{"spec.remoteNamespaces.strategies of ClusterBinding " + cb.Name, "allows DefaultName", "ask the platform engineer"}
		Eventually(home.entry(cb, team)).Should(mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameNotAllowed, rule...))
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseAllFailed, rule...),
			remoteCondition(cb, v1alpha1.RemoteNamespaceReady, isFalse(v1alpha1.ReasonNameNotAllowed, rule...))))
		Expect(eu.has(name)()).To(BeFalse())

		change(home, cb, func(cb *v1alpha1.ClusterBinding) { allowingNames(name, v1alpha1.MappingSelectedName)(cb) })
		home.offloadingIsReady(team)
		change(home, cb, func(cb *v1alpha1.ClusterBinding) { allowingNames("another", v1alpha1.MappingDefaultName)(cb) })
		later := home.offloadNew(selecting(labelSpec, own), selectedName(unique("chosen")))
		Eventually(home.entry(cb, later)).Should(mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameNotAllowed), "the new rule is in force")
		Expect(home.entry(cb, team)()).To(accepted, "what is there stays")
		Expect(home.entry(cb, byDefault)()).To(accepted)
	})

	It("wants the name of the manager's namespace", func() {
		team := home.offloadNew(here, selectedName(manager.DefaultNamespace))
		reserved := mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameReserved, "remote namespace "+manager.DefaultNamespace, "is reserved")
		Eventually(home.entry(toEU, team)).Should(reserved)
		Eventually(home.offloading(team)).Should(inPhase(v1alpha1.OffloadingPhaseAllFailed, toEU.Spec.ClusterID, "is reserved"))
		Expect(eu.has(manager.DefaultNamespace)()).To(BeFalse())
	})

	It("is called default, and wants to be there too", func() {
		before, err := eu.namespace(metav1.NamespaceDefault)()
		Expect(err).NotTo(HaveOccurred())
		home.offload(metav1.NamespaceDefault, here, sameName)
		Eventually(home.entry(toEU, metav1.NamespaceDefault)).Should(
			mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameReserved, "remote namespace default", "is reserved"))
		Expect(eu.namespace(metav1.NamespaceDefault)()).To(HaveField("ResourceVersion", before.ResourceVersion))
	})

	It("wants a name that is somebody else's, which is left alone until it is free", slow, func() {
		taken := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: unique("taken"), Labels: map[string]string{"app.kubernetes.io/managed-by": "argocd"}}}
		eu.create(taken)
		team := home.offloadNew(here, selectedName(taken.Name))
		conflict := mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict,
			"namespace "+taken.Name+" exists in provider "+toEU.Spec.ClusterID, "left alone", "managed by argocd")
		Eventually(home.entry(toEU, team)).Should(conflict)
		Eventually(home.offloading(team)).Should(And(
			inPhase(v1alpha1.OffloadingPhaseAllFailed, "managed by argocd"),
			remoteCondition(toEU, v1alpha1.RemoteNamespaceReady, isFalse(v1alpha1.ReasonNameConflict, "managed by argocd"))))
		found, err := eu.namespace(taken.Name)()
		Expect(err).NotTo(HaveOccurred())
		Expect(found.UID).To(Equal(taken.UID))
		Expect(found.Labels).To(Equal(taken.Labels))
		Expect(found.Annotations).To(BeEmpty())
		Expect(found.DeletionTimestamp).To(BeNil())

		eu.drop(taken)
		// The next try comes up to 10 seconds after the first.
		home.offloadingIsReady(team)
		Expect(eu.namespace(taken.Name)()).To(HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationLocalNamespace, team)))
	})

	It("wants a name that another one was first to ask for, and gets it afterwards", slow, func() {
		name := unique("wanted")
		first := home.newNamespace()
		offloading := home.offload(first, here, selectedName(name))
		home.offloadingIsReady(first)
		second := home.offloadNew(here, selectedName(name))
		Eventually(home.entry(toEU, second)).Should(mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameTaken,
			"local namespace "+first+" already claims remote namespace "+name))
		Eventually(home.offloading(second)).Should(inPhase(v1alpha1.OffloadingPhaseAllFailed, "local namespace "+first+" already claims"))
		Expect(home.entry(toEU, first)()).To(accepted)

		home.drop(offloading)
		home.offloadingIsReady(second)
		Expect(eu.namespace(name)()).To(HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationLocalNamespace, second)))
		Eventually(home.fetching(offloading)).Should(absent, "the first has gone")
	})
})

var _ = Describe("A ClusterBinding that cannot be used", func() {
	It("has the clusterID of an older one, and takes over when that goes", func() {
		spec := unique("spec")
		first := home.bind(eu, spec)
		home.bindingIsReady(first)
		// If both are created in the same second, the first by name is the older one.
		second := home.bindWith(eu.providerKubeconfig(), first.Name+"-z", spec, withClusterID(first.Spec.ClusterID))
		Eventually(home.condition(second, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonDuplicateClusterID,
			"clusterID "+first.Spec.ClusterID, "held by ClusterBinding "+first.Name, "older"), "the clusterID is held by another one")
		Expect(home.condition(second, v1alpha1.BindingConnected)()).To(isFalse(v1alpha1.ReasonDuplicateClusterID))
		Expect(home.condition(first, v1alpha1.BindingReady)()).To(isTrue(v1alpha1.ReasonReady))
		team := home.offloadNew(selecting(labelSpec, spec))
		home.offloadingIsReady(team)
		Expect(home.offloading(team)()).To(clustersOf(ConsistOf(first.Spec.ClusterID)))

		home.drop(first)
		Eventually(home.fetching(first)).Should(absent, "the first is unbound")
		home.bindingIsReady(second)
		home.offloadingIsReady(team)
		Expect(metav1.IsControlledBy(home.virtualNode(second), second)).To(BeTrue(), "the node is that of the second binding")
	})

	It("goes at once if it has never held its clusterID", func() {
		spec := unique("spec")
		first := home.bind(eu, spec)
		home.bindingIsReady(first)
		team := home.offloadNew(selecting(labelSpec, spec))
		home.offloadingIsReady(team)
		second := home.bindWith(eu.providerKubeconfig(), first.Name+"-z", spec, withClusterID(first.Spec.ClusterID))
		Eventually(home.condition(second, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonDuplicateClusterID))

		home.drop(second)
		Eventually(home.fetching(second)).Should(absent, "nothing was made for it")
		Expect(home.condition(first, v1alpha1.BindingReady)()).To(isTrue(v1alpha1.ReasonReady), "the other binding is not concerned")
		Expect(eu.namespace(remoteName(team))()).To(HaveField("DeletionTimestamp", BeNil()))
	})

	It("finds a Node of the virtual node's name that is not its own, and leaves it alone until it goes", func() {
		name := unique("eu")
		foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: v1alpha1.VirtualNodePrefix + name, Labels: map[string]string{"example.com/owner": "somebody"}}}
		home.create(foreign)
		cb := newBinding(name, withLabels(labelSpec, unique("spec")))
		home.putKubeconfig(name, eu.providerKubeconfig())
		home.create(cb)
		Eventually(home.condition(cb, v1alpha1.BindingVirtualNodeReady)).Should(
			isFalse(v1alpha1.ReasonNodeNameConflict, "Node "+foreign.Name, "does not belong to this ClusterBinding", "left alone"))
		Eventually(home.condition(cb, v1alpha1.BindingConnected)).Should(isTrue(v1alpha1.ReasonConnected))
		Eventually(home.condition(cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonNodeNameConflict))
		Expect(now(home, foreign)()).To(And(
			HaveField("Labels", And(HaveKeyWithValue("example.com/owner", "somebody"), Not(HaveKey(v1alpha1.LabelNodeType)))),
			HaveField("OwnerReferences", BeEmpty()),
			HaveField("Spec.Taints", Not(ContainElement(HaveField("Key", v1alpha1.TaintVirtualNode)))),
			HaveField("Status.Capacity", BeEmpty()),
		), "the node is somebody else's")
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: foreign.Name}}
		Expect(home.fetching(lease)()).To(absent)

		home.drop(foreign)
		home.bindingIsReady(cb)
		Expect(metav1.IsControlledBy(home.virtualNode(cb), cb)).To(BeTrue())
		home.renewed(cb)
	})
})
