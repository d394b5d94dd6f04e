package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/service"
)

// test/kinds tests what all kinds have in common, such as that changes follow.
var _ = Describe("The Services of an offloaded namespace", Ordered, func() {
	var t team

	created := func(edit func(*corev1.ServiceSpec)) *corev1.Service {
		created := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("web")},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		edit(&created.Spec)
		home.make(created)
		return created
	}
	asItIs := func(*corev1.ServiceSpec) {}

	BeforeAll(func() { t = newTeam() })

	It("are reached from within the provider only", func() {
		open := created(func(s *corev1.ServiceSpec) {
			s.Type, s.ExternalIPs = corev1.ServiceTypeLoadBalancer, []string{"192.0.2.1"}
		})
		headless := created(func(s *corev1.ServiceSpec) { s.ClusterIP = corev1.ClusterIPNone })
		Eventually(now(eu, in(t.remote, open))).Should(HaveField("Spec", And(
			HaveField("Type", corev1.ServiceTypeClusterIP), HaveField("ExternalIPs", BeEmpty()), HaveField("Selector", open.Spec.Selector),
			HaveField("ClusterIP", Not(BeElementOf("", corev1.ClusterIPNone))), HaveField("Ports", ConsistOf(HaveField("NodePort", BeZero()))))))
		Eventually(now(eu, in(t.remote, headless))).Should(HaveField("Spec.ClusterIP", corev1.ClusterIPNone))
		t.tells(open, service.ReasonSentAsClusterIP, "spec.type is LoadBalancer")
		Expect(now(home, open)()).To(HaveField("ObjectMeta", And(HaveField("Labels", BeEmpty()), HaveField("Annotations", BeEmpty()))), "nothing of ours is on it")
	})

	It("find pods by a label that the provider does not list, and no others once it lists it, or no longer", func() {
		const key = "cnpg.io/cluster"
		limits := eu.limits()
		DeferCleanup(func() { change(eu, eu.limits(), func(now *corev1.ConfigMap) { now.Data = limits.Data }) })
		sent := created(func(s *corev1.ServiceSpec) { s.Selector = map[string]string{key: "pg"} })
		found := func() (names []string, err error) {
			copied := in(t.remote, sent)
			if err := eu.fetching(copied)(); err != nil {
				return nil, err
			}
			var pods corev1.PodList
			err = eu.List(ctx, &pods, client.InNamespace(t.remote), client.MatchingLabels(copied.Spec.Selector))
			for i := range pods.Items {
				names = append(names, pods.Items[i].Name)
			}
			return names, err
		}
		t.running(labelled(key, "other"))
		pod, first := t.running(labelled(key, "pg"))
		Eventually(found).Should(ConsistOf(first.Name))
		Expect(first.Labels).NotTo(HaveKey(key), "a controller of the provider could take it for a command")
		copied, err := now(eu, in(t.remote, sent))()
		Expect(err).NotTo(HaveOccurred())

		eu.limit("metadataKeys", limits.Data["metadataKeys"]+", cnpg.io/")
		Expect(found()).To(ConsistOf(first.Name), "whether the pod has been changed or not")
		Eventually(now(eu, first)).Should(HaveField("Labels", HaveKeyWithValue(key, "pg")))
		_, second := t.running(labelled(key, "pg"))
		Expect(found()).To(ConsistOf(first.Name, second.Name))

		eu.limit("metadataKeys", limits.Data["metadataKeys"])
		var third *corev1.Pod
		Eventually(func() map[string]string { // Until the manager has seen the limits.
			_, third = t.running(labelled(key, "pg"))
			return third.Labels
		}).ShouldNot(HaveKey(key))
		Expect(found()).To(ContainElements(first.Name, second.Name, third.Name))
		change(home, pod, func(p *corev1.Pod) { p.Labels[key] = "other" })
		Eventually(found).ShouldNot(ContainElement(first.Name), "what is on it under the provider's key is old")
		Expect(now(eu, in(t.remote, sent))()).To(HaveField("ResourceVersion", copied.ResourceVersion), "the limits cause no write of the Service")
	})

	It("say why they are not there", func() {
		alias := created(func(s *corev1.ServiceSpec) {
			s.Type, s.ExternalName, s.Ports = corev1.ServiceTypeExternalName, "example.com", nil
		})
		t.tells(alias, service.ReasonExternalName, `pods there must use "example.com" itself`)
		taken := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: unique("taken")}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
		eu.make(taken)
		ours := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: taken.Name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 2}}}}
		home.make(ours)
		t.tells(ours, v1alpha1.ReasonNameConflict, "exists in provider "+t.cb.Spec.ClusterID+", and is left alone")
		Expect(now(eu, taken)()).To(HaveField("Spec.Ports", ConsistOf(HaveField("Port", int32(1)))))
		Expect(eu.fetching(in(t.remote, alias))()).To(absent)
	})

	It("go and come with the list of the offloading", func() {
		sent := created(asItIs)
		Eventually(eu.fetching(in(t.remote, sent))).Should(Succeed())
		list := func(resources ...v1alpha1.OffloadedResource) {
			nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: v1alpha1.OffloadingName}}
			change(home, nso, func(nso *v1alpha1.NamespaceOffloading) {
				nso.Spec.Resources = append([]v1alpha1.OffloadedResource{}, resources...)
			})
		}
		list()
		Eventually(eu.fetching(in(t.remote, sent))).Should(absent)
		Expect(home.fetching(sent)()).To(Succeed())
		list(v1alpha1.OffloadedServices)
		Eventually(eu.fetching(in(t.remote, sent))).Should(Succeed())
	})

	It("say that a provider gives no right to them, and pods run", func() {
		t := newTeamWith(eu.lacking("services", "list", "watch"))
		Expect(home.condition(t.cb, v1alpha1.BindingLimited)()).To(isTrue(v1alpha1.ReasonRightsMissing, "list and watch services"))
		unsent := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		home.make(unsent)
		t.tells(unsent, v1alpha1.ReasonRightsMissing, "does not let Spillway list and watch services")
		t.running()
	})
})

// tells waits until an object has an event.
func (t team) tells(object client.Object, reason, text string) {
	GinkgoHelper()
	Eventually(func() ([]corev1.Event, error) {
		var list corev1.EventList
		err := home.List(ctx, &list, client.InNamespace(object.GetNamespace()))
		return list.Items, err
	}).Should(ContainElement(And(
		HaveField("InvolvedObject.UID", object.GetUID()), HaveField("Reason", reason), HaveField("Message", ContainSubstring(text)))))
}
