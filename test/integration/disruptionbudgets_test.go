package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/poddisruptionbudget"
	"github.com/spillway-io/spillway/internal/field"
)

// test/kinds tests what all kinds have in common, such as that changes follow.
var _ = Describe("The PodDisruptionBudgets of an offloaded namespace", func() {
	all := func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Resources = []v1alpha1.OffloadedResource{v1alpha1.OffloadedPodDisruptionBudgets}
	}
	budget := func(t team, app string, available intstr.IntOrString) *policyv1.PodDisruptionBudget {
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("budget")},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &available, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		}
		home.make(budget)
		return budget
	}

	It("let each provider use what is left of the whole", func() {
		t := newTeamWith(eu.providerKubeconfig())
		toUS := home.bind(us, t.spec)
		change(home, newOffloading(t.namespace, nil), all)
		home.bindingIsReady(toUS)
		home.offloadingIsReady(t.namespace)
		us.takesPods(t.remote)

		By("running two of six pods at home, and two in each provider")
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "web"},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: ptr.To[int32](6), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: newPodSpec()},
			},
		}
		home.create(set)
		var pods corev1.PodList
		Eventually(func() ([]corev1.Pod, error) {
			return pods.Items, home.List(ctx, &pods, client.InNamespace(t.namespace))
		}).Should(HaveLen(6))
		atHome := func(pod *corev1.Pod) { home.setPodStatus(pod, corev1.PodRunning) } // On no node, because that node would be found dead.
		var inEU, inUS []*corev1.Pod
		for i := range pods.Items {
			pod := &pods.Items[i]
			switch {
			case i < 2:
				atHome(pod)
			case i < 4:
				inEU = append(inEU, eu.runs(t.cb, pod))
			default:
				inUS = append(inUS, us.runs(toUS, pod))
			}
		}

		By("wanting four fifths of them")
		local := budget(t, "web", intstr.FromString("80%"))
		copied := in(t.remote, local)
		wants := func(pods int32, allowed int32) OmegaMatcher {
			return And(HaveField("Spec.MinAvailable.IntVal", pods), HaveField("Status.DisruptionsAllowed", allowed))
		}
		Eventually(now(eu, copied)).Should(wants(1, 1), "four are elsewhere")
		Eventually(now(us, copied)).Should(wants(1, 1))

		By("evicting one in the first")
		evict := func(c *controlPlane, pod *corev1.Pod) error {
			return c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
		}
		Expect(evict(eu, inEU[0])).To(Succeed())
		Expect(evict(eu, inEU[1])).To(Satisfy(apierrors.IsTooManyRequests), "the other has to stay")
		Eventually(now(us, copied)).Should(wants(2, 0), "only three are elsewhere now: one is ending")
		eu.end(inEU[0])
		Expect(evict(us, inUS[0])).To(Satisfy(apierrors.IsTooManyRequests))
		Expect(now(eu, copied)()).To(wants(1, 0), "where it ran, nothing has changed")

		By("running another one at home")
		var next *corev1.Pod
		Eventually(func(g Gomega) {
			g.Expect(home.List(ctx, &pods, client.InNamespace(t.namespace))).To(Succeed())
			for i := range pods.Items {
				if pods.Items[i].Spec.NodeName == "" && !field.IsReady(&pods.Items[i]) {
					next = &pods.Items[i]
				}
			}
			g.Expect(next).NotTo(BeNil())
		}).Should(Succeed())
		atHome(next)
		Eventually(now(us, copied)).Should(wants(1, 1))
		Eventually(now(eu, copied)).Should(wants(0, 1), "five are elsewhere")
		Expect(now(home, local)()).To(HaveField("ObjectMeta", And(HaveField("Labels", BeEmpty()), HaveField("Annotations", BeEmpty()))), "nothing of ours is on it")

		for _, pod := range inUS {
			us.end(pod)
		}
	})

	It("say why they are not there", func() {
		t := newTeam()
		unasked := budget(t, "web", intstr.FromInt32(1))
		change(home, newOffloading(t.namespace, nil), all)
		Eventually(eu.fetching(in(t.remote, unasked))).Should(Succeed(), "its team asks for it now")
		unsent := budget(t, "x", intstr.FromInt32(1))
		change(home, unsent, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchLabels = map[string]string{"spillway.io/unsent": "x"}
		})
		t.tells(unsent, field.ReasonSelectorNotSent, "spillway.io/unsent")
		owner := newConfigMap(t.namespace, "odd", "1")
		home.make(owner)
		home.make(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: t.namespace, Name: "odd", Labels: map[string]string{"app": "odd"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true)}},
		}, Spec: newPodSpec()})
		unknown := budget(t, "odd", intstr.FromString("50%"))
		t.tells(unknown, poddisruptionbudget.ReasonBudgetUnknown, "see its condition DisruptionAllowed")
		Expect(eu.fetching(in(t.remote, unknown))()).To(absent)
	})
})

// runs puts a pod of the consumer on the virtual node of a binding. It plays the remote pod's kubelet until
// both run, and returns the remote pod.
func (c *controlPlane) runs(cb *v1alpha1.ClusterBinding, local *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	target := corev1.ObjectReference{Kind: "Node", Name: cb.VirtualNodeName()}
	Expect(home.SubResource("binding").Create(ctx, local, &corev1.Binding{Target: target})).To(Succeed())
	remote := c.remotePod(cb, local)
	c.schedule(remote)
	c.setPodStatus(remote, corev1.PodRunning)
	Eventually(home.podPhase(local)).Should(Equal(corev1.PodRunning))
	return remote
}
