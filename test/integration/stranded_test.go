package integration

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
)

// There is no scheduler: a pod waits for a node until the spec binds it.
var _ = Describe("Pods that can run on virtual nodes alone, and wait for a node", slow, func() {
	var (
		t                         team
		set                       *appsv1.ReplicaSet
		runs, remote, waits, bare *corev1.Pod
	)

	BeforeEach(func() {
		t = newTeam()
		change(home, newOffloading(t.namespace, nil), func(nso *v1alpha1.NamespaceOffloading) { nso.Spec.PodOffloadingStrategy = v1alpha1.PodsRemote })
		Eventually(home.dryRunPod(t.namespace)).Should(WithTransform(unscheduledpod.OnlyVirtual, BeTrue()), "the API server should know that pods go to virtual nodes alone")
		labels := map[string]string{"app": "web"}
		set = &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "web"},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: newPod("").Spec},
			},
		}
		home.create(set)
		var pods []corev1.Pod
		Eventually(func() (_ []corev1.Pod, err error) { pods, err = home.podsOf(set)(); return pods, err }).Should(HaveLen(2))
		runs, waits = &pods[0], &pods[1]
		remote = eu.runs(t.cb, runs)
		bare = newPod(t.namespace)
		home.make(bare)
	})

	DescribeTable("go with the offloading of their namespace if their controller makes them again, and are named if not", func(guarded bool) {
		if guarded {
			home.guard(t.namespace, "web", 1)
		}
		home.drop(newOffloading(t.namespace, nil))
		Eventually(home.fetching(waits)).Should(absent, "its ReplicaSet makes another one")
		var fresh []corev1.Pod
		Eventually(func() (_ []corev1.Pod, err error) { fresh, err = home.podsOf(set, runs.UID)(); return fresh, err }).ShouldNot(BeEmpty())
		for i := range fresh {
			Expect(&fresh[i]).To(And(HaveField("Spec.Affinity", BeNil()), Not(toleratesVirtualNodes)), "it may run here, and nowhere else")
		}
		if guarded {
			Eventually(home.offloading(t.namespace)).Should(HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonEvictingPods, "1 pod ("+nameOf(runs)+")",
				"needs 1 healthy pods and has 1 currently; not healthy: "+fresh[0].Name+" (waits for a node)", "1 pod ("+nameOf(bare)+") waits for a virtual node"))))
			Expect(now(home, runs)()).NotTo(going)
			home.setPodStatus(&fresh[0], corev1.PodRunning)
		}
		Eventually(now(home, runs)).Should(going, "nothing holds it")
		eu.end(remote)
		Eventually(home.fetching(newOffloading(t.namespace, nil))).Should(absent)
		Eventually(home.eventsAbout(bare)).Should(ContainElement(HaveField("Reason", v1alpha1.ReasonPodStranded)))
		Expect(now(home, bare)()).NotTo(going, "nobody would make it again")

		target := corev1.ObjectReference{Kind: "Node", Name: t.cb.VirtualNodeName()}
		Expect(home.SubResource("binding").Create(ctx, bare, &corev1.Binding{Target: target})).To(Succeed(), "the scheduler finds a node for it")
		t.staysHome(bare, v1alpha1.ReasonNamespaceNotOffloaded)
	},
		Entry("at once", false),
		Entry("although a budget counts them", true),
	)

	It("stay when their last provider goes, and both the offloading and the binding name them", func() {
		budget := home.guard(t.namespace, "web", 1)
		home.drop(t.cb)
		Eventually(home.condition(t.cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonEvictionsRefused,
			"The disruption budget "+budget.Name+" needs 1 healthy pods and has 1 currently; not healthy: "+waits.Name+" (waits for a node)"))
		Eventually(home.offloading(t.namespace)).Should(inPhase(v1alpha1.OffloadingPhaseNoClusterSelected,
			"not healthy: "+waits.Name, "wait until it selects another one: 2 pods ("+nameOf(bare, waits)+")"))
		home.drop(budget)
		Eventually(now(home, runs)).Should(going)
		eu.end(remote)
		Eventually(home.fetching(t.cb)).Should(absent)
		Eventually(home.offloading(t.namespace)).Should(inPhase(v1alpha1.OffloadingPhaseNoClusterSelected,
			"clusterSelector selects no ClusterBinding", "wait until it selects another one: 3 pods ("), "another one has been made, and waits like them")
		Expect(now(home, waits)()).To(HaveField("UID", waits.UID), "a new one would wait for the same node")
	})
})

// podsOf reads the pods of a ReplicaSet that are not being deleted, except some.
func (c *controlPlane) podsOf(set *appsv1.ReplicaSet, except ...types.UID) func() ([]corev1.Pod, error) {
	return func() ([]corev1.Pod, error) {
		var list corev1.PodList
		if err := c.List(ctx, &list, client.InNamespace(set.Namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)); err != nil {
			return nil, err
		}
		var pods []corev1.Pod
		for _, pod := range list.Items {
			if pod.DeletionTimestamp.IsZero() && !slices.Contains(except, pod.UID) {
				pods = append(pods, pod)
			}
		}
		return pods, nil
	}
}
