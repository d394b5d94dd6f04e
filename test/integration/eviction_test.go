package integration

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("Taking back what has pods", func() {
	var t team

	BeforeEach(func() { t = newTeam() })

	It("a ClusterBinding: pods by their budgets, then what they needed, then the namespaces", func() {
		home.create(newConfigMap(t.namespace, "settings", "1"))
		guarded, remoteGuarded := t.running(withConfigMap("settings", false), labelled("app", "guarded"))
		free, remoteFree := t.running()
		budget := home.guard(t.namespace, "guarded", 1)
		copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: "settings"}}
		eu.holdObject(copied)
		steps := home.drainedOf(t.cb)

		home.drop(t.cb)
		Eventually(now(home, free)).Should(going, "no budget holds it")
		Eventually(now(eu, remoteFree)).Should(going, "the remote pod should be told to go")
		Eventually(home.condition(t.cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonEvictionsRefused,
			"2 pods ("+nameOf(guarded, free)+")", "refuses to evict "+nameOf(guarded), "The disruption budget "+budget.Name+" needs 1 healthy pods and has 1"))
		Eventually(home.eventsAbout(t.cb)).Should(ContainElement(And(HaveField("Reason", "EvictionsRefused"), HaveField("Type", corev1.EventTypeWarning))))
		eu.end(remoteFree)
		Eventually(home.fetching(free)).Should(absent, "the remote pod has ended")
		Eventually(home.condition(t.cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonEvictionsRefused, "1 pod ("+nameOf(guarded)+")"))
		Eventually(home.offloading(t.namespace)).Should(inPhase(v1alpha1.OffloadingPhaseNoClusterSelected,
			"only ClusterBindings that are being deleted: "+t.cb.Name), "the team is told")
		Expect(now(home, guarded)()).To(Not(going), "its budget does not let it go")
		Expect(home.entry(t.cb, t.namespace)()).To(accepted)

		home.drop(budget)
		Eventually(now(home, guarded)).Should(going, "the budget is gone, and it is tried again")
		Eventually(now(eu, remoteGuarded)).Should(going)
		eu.end(remoteGuarded)
		Eventually(home.condition(t.cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonDeletingCopies,
			"1 object (ConfigMap "+t.namespace+"/settings)"), "the copy is held")
		Expect(eu.namespace(t.remote)()).To(Not(going), "what is in it goes first")
		eu.releaseObject(copied)
		Eventually(home.fetching(t.cb)).Should(absent, "the copy has gone")
		Expect(slices.DeleteFunc(steps.all(), func(step string) bool { return step == v1alpha1.ReasonEvictingPods })).To(HaveExactElements(
			v1alpha1.ReasonCordoning, v1alpha1.ReasonEvictionsRefused, v1alpha1.ReasonDeletingCopies, v1alpha1.ReasonDeletingNamespaces, v1alpha1.ReasonDeletingNamespaceMap, v1alpha1.ReasonDeletingNode, v1alpha1.ReasonDeletingLease))
		Expect(now(home, newConfigMap(t.namespace, "settings", ""))()).To(unmarked)
		Expect(eu.has(t.remote)()).To(BeFalse())
		home.nothingOf(t.cb)
	})

	It("a ClusterBinding, for which pods of DaemonSets are not waited", slow, func() {
		home.create(daemonSet(t))
		var pods corev1.PodList
		Eventually(func() ([]corev1.Pod, error) {
			return pods.Items, home.List(ctx, &pods, client.InNamespace(t.namespace))
		}).ShouldNot(BeEmpty(), "the DaemonSet should have its pod")
		target := corev1.ObjectReference{Kind: "Node", Name: t.cb.VirtualNodeName()}
		Expect(home.SubResource("binding").Create(ctx, &pods.Items[0], &corev1.Binding{Target: target})).To(Succeed())
		home.drop(t.cb)
		Eventually(home.fetching(t.cb)).Should(absent, "its controller would make the pod again for ever")
		home.nothingOf(t.cb)
	})

	It("a ClusterBinding whose NamespaceMap somebody has deleted", slow, func() {
		home.create(newConfigMap(t.namespace, "settings", "1"))
		local, remote := t.running(withConfigMap("settings", false), labelled("app", "guarded"))
		budget := home.guard(t.namespace, "guarded", 1)
		home.drop(t.cb)
		Eventually(home.condition(t.cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonEvictionsRefused, "refuses to evict "+nameOf(local)))
		home.drop(&v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: t.cb.Name}})
		home.drop(budget)
		Eventually(now(eu, remote)).Should(going)
		eu.end(remote)
		Eventually(home.fetching(t.cb)).Should(absent)
		Expect(now(home, newConfigMap(t.namespace, "settings", ""))()).To(unmarked)
		home.nothingOf(t.cb)
		eu.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}}) // Nobody has requested its deletion.
	})

	It("a ClusterBinding with deletionPolicy Orphan, which leaves pods and what they need", slow, func() {
		home.create(newConfigMap(t.namespace, "settings", "1"))
		local, remote := t.running(withConfigMap("settings", false))
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		Expect(now(home, newConfigMap(t.namespace, "settings", ""))()).NotTo(unmarked)
		steps := home.drainedOf(t.cb)

		home.drop(t.cb)
		Eventually(home.fetching(t.cb)).Should(absent, "nothing has to be waited for")
		Expect(steps.all()).To(HaveExactElements(v1alpha1.ReasonCordoning, v1alpha1.ReasonDeletingNamespaceMap,
			v1alpha1.ReasonReleasingObjects, v1alpha1.ReasonDeletingNode, v1alpha1.ReasonDeletingLease))
		Expect(now(home, newConfigMap(t.namespace, "settings", ""))()).To(unmarked)
		Expect(home.eventsAbout(t.cb)()).To(ContainElement(And(HaveField("Reason", "LeftBehind"), noting(t.remote))))
		Expect(home.eventsAbout(t.cb)()).To(ContainElement(And(HaveField("Reason", "LeftBehind"), noting("1 pod ("+nameOf(local)+")"))))
		Consistently(now(eu, remote)).Should(Not(going), "it runs on")
		Expect(eu.value(newConfigMap(t.remote, "settings", ""))()).To(Equal("1"))
		home.nothingOf(t.cb)
		eu.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}})
	})

	It("a NamespaceOffloading: pods first, but not those that have ended", func() {
		local, remote := t.running()
		ended, remoteEnded := t.running()
		eu.setPodStatus(remoteEnded, corev1.PodSucceeded)
		Eventually(home.podPhase(ended)).Should(Equal(corev1.PodSucceeded))
		phases := home.phasesOf(t.namespace)

		home.drop(newOffloading(t.namespace, nil))
		Eventually(home.offloading(t.namespace)).Should(And(
			HaveField("OffloadingPhase", v1alpha1.OffloadingPhaseTerminating),
			HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonEvictingPods, t.cb.Spec.ClusterID+": 1 pod ("+nameOf(local)+")"))),
			remoteCondition(t.cb, v1alpha1.RemoteNamespaceRequired, isFalse(v1alpha1.ReasonClusterNotSelected, "evicted from the virtual node first")),
		))
		Eventually(now(eu, remote)).Should(going, "it is evicted")
		Expect(home.entry(t.cb, t.namespace)()).To(accepted, "its remote namespace waits for it")
		eu.end(remote)
		Eventually(home.fetching(newOffloading(t.namespace, nil))).Should(absent)
		Expect(eu.has(t.remote)()).To(BeFalse())
		Expect(now(home, ended)()).To(Not(going), "what has ended is nobody's business")
		Expect(phases.all()).To(HaveExactElements("Ready/Ready", "Terminating/EvictingPods", "Terminating/DeletingNamespaces"))
	})

	It("a provider that is not selected any more", slow, func() {
		local, remote := t.running()
		change(home, newOffloading(t.namespace, nil), func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.ClusterSelector = selecting(labelSpec, unique("elsewhere"))
		})
		Eventually(now(eu, remote)).Should(going, "it is evicted")
		Eventually(home.offloading(t.namespace)).Should(And(inPhase(v1alpha1.OffloadingPhaseNoClusterSelected),
			remoteCondition(t.cb, v1alpha1.RemoteNamespaceRequired, isFalse(v1alpha1.ReasonClusterNotSelected, "evicted from the virtual node first"))))
		Consistently(home.entry(t.cb, t.namespace)).Should(accepted, "the entry stays for the pod's sake")
		eu.end(remote)
		Eventually(home.fetching(local)).Should(absent)
		Eventually(eu.has(t.remote)).Should(BeFalse(), "the pod has left")
		Eventually(home.offloading(t.namespace)).Should(clustersOf(BeEmpty()))
	})

	It("the local Namespace, whose pods Kubernetes deletes", func() {
		_, remote := t.running()
		home.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}})
		Eventually(now(eu, remote)).Should(going, "Kubernetes deletes the pods of the namespace")
		home.passes(selecting(labelSpec, t.spec))
		Expect(eu.namespace(t.remote)()).To(Not(going), "the pods go first")
		eu.end(remote)
		Eventually(home.has(t.namespace)).Should(BeFalse(), "the remote pod has ended")
		Expect(eu.has(t.remote)()).To(BeFalse())
	})
})

var _ = Describe("Taking back what has pods from a provider that cannot be reached", slow, func() {
	It("waits, names them, and releases what it has to leave behind", func() {
		door := newGate(eu)
		t := newTeamThrough(door.kubeconfig(eu))
		home.create(newConfigMap(t.namespace, "settings", "1"))
		local, remote := t.running(withConfigMap("settings", false))
		door.shut()
		Eventually(home.condition(t.cb, v1alpha1.BindingConnected)).Should(isFalse(v1alpha1.ReasonUnreachable), "the provider is cut off")

		home.drop(t.cb)
		Eventually(home.condition(t.cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonProviderUnreachable,
			"waits for the provider, for 1 pod ("+nameOf(local)+") to end there"))
		Eventually(now(home, local)).Should(going, "it is evicted all the same")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Unreachable.DeletionTimeout = &metav1.Duration{Duration: time.Since(cb.DeletionTimestamp.Time) + 2*time.Second}
		})
		Eventually(home.fetching(t.cb)).Should(absent, "the time is up")
		for _, left := range []string{t.remote, "1 pod (" + nameOf(local) + ")"} {
			Eventually(home.eventsAbout(t.cb)).Should(ContainElement(And(HaveField("Reason", "LeftBehind"), noting(left))))
		}
		Expect(now(home, newConfigMap(t.namespace, "settings", ""))()).To(unmarked)
		Expect(now(eu, remote)()).To(Not(going))
		home.nothingOf(t.cb)
		eu.drop(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}})
	})
})

// daemonSet runs a pod on the virtual node of a team. The pod tolerates everything.
func daemonSet(t team) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{v1alpha1.LabelCluster: t.cb.Spec.ClusterID},
					Tolerations:  []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}},
					Containers:   []corev1.Container{{Name: "agent", Image: "example.com/agent:1"}},
				},
			},
		},
	}
}

// going matches an object that is being deleted, and unmarked one without Spillway's marks.
var (
	going    types.GomegaMatcher = HaveField("DeletionTimestamp", Not(BeNil()))
	unmarked types.GomegaMatcher = And(HaveField("GetLabels()", BeEmpty()), HaveField("GetAnnotations()", BeEmpty()), HaveField("GetFinalizers()", BeEmpty()))
)
