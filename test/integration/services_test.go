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
