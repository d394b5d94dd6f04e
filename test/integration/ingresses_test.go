package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/address"
	"github.com/spillway-io/spillway/internal/field"
)

// test/kinds tests what all kinds have in common, such as that changes follow.
var _ = Describe("The Ingresses of an offloaded namespace", func() {
	It("are served in a provider if their class is mapped, with their certificates, and unbinding leaves nothing", func() {
		t := newTeam()
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
		here, there := unique("here"), unique("there")
		class := func() *networkingv1.IngressClass {
			return &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: there}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/ingress"}}
		}
		DeferCleanup(func() { eu.drop(class()) })
		secret := newSecret(t.namespace, unique("cert"), "1").(*corev1.Secret)
		home.make(secret)
		ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("web")}, Spec: networkingv1.IngressSpec{
			IngressClassName: &here, Rules: []networkingv1.IngressRule{{Host: "web.example.com"}},
			TLS: []networkingv1.IngressTLS{{Hosts: []string{"web.example.com"}, SecretName: secret.Name}, {Hosts: []string{"web.example.com"}, SecretName: "not-made-yet"}},
		}}
		home.make(ingress)
		remote, cert := in(t.remote, ingress), in(t.remote, secret)
		t.passes()
		Expect(home.eventsAbout(ingress)()).To(BeEmpty(), "an ordinary Ingress is none of our business")

		By("mapping its class, which the provider does not list")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassIngress, Name: here, RemoteName: there}}
		})
		t.tells(ingress, field.ReasonClassNotAllowed, "does not allow the class "+there)
		Expect(now(home, secret)()).To(HaveField("ObjectMeta", And(HaveField("Labels", BeEmpty()), HaveField("Finalizers", BeEmpty()))), "what stays here needs nothing")
		eu.limit("ingressClasses", there)
		t.tells(ingress, field.ReasonHostNotAllowed, "spec.rules[0].host is web.example.com: the provider does not list it")
		eu.limit("ingressHosts", "example.org, "+providerAccount+"=*.example.com")
		t.tells(ingress, v1alpha1.ReasonClassMissing, "spec.ingressClassName: the provider has no IngressClass \""+there+"\"")
		Expect(now(home, secret)()).To(HaveField("ObjectMeta", And(HaveField("Labels", BeEmpty()), HaveField("Finalizers", BeEmpty()))))
		eu.make(class())
		Eventually(now(eu, remote)).Should(HaveField("Spec", And(HaveField("IngressClassName", HaveValue(Equal(there))), HaveField("TLS", ingress.Spec.TLS))))
		Eventually(eu.fetching(cert)).Should(Succeed())

		By("giving it an address there, and one that is the consumer's own")
		addressed := func() {
			GinkgoHelper()
			Expect(eu.fetching(remote)()).To(Succeed())
			remote.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.10"}, {Hostname: "web.team.svc.cluster.local"}}
			Expect(eu.Status().Update(ctx, remote)).To(Succeed())
			Eventually(now(home, ingress)).Should(And(
				HaveField("Status.LoadBalancer.Ingress", ConsistOf(networkingv1.IngressLoadBalancerIngress{IP: "203.0.113.10"})),
				HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationAddressesPrefix+t.cb.Spec.ClusterID, "203.0.113.10"))))
		}
		addressed()
		t.tells(ingress, address.ReasonAddressRefused, "web.team.svc.cluster.local")

		By("taking the class away in the provider, and giving it back")
		uid := remote.UID
		eu.drop(class())
		Eventually(home.condition(t.cb, v1alpha1.BindingClassesReady)).Should(isFalse(v1alpha1.ReasonClassMissing, "IngressClass "+there))
		change(home, ingress, func(i *networkingv1.Ingress) { i.Labels = map[string]string{"tier": "front"} })
		eu.make(class())
		Eventually(now(eu, remote)).Should(HaveField("Labels", HaveKeyWithValue("tier", "front")))
		Expect(now(eu, remote)()).To(And(HaveField("UID", uid), HaveField("Status.LoadBalancer.Ingress", Not(BeEmpty()))), "the copy has stayed")

		By("closing it by an annotation that the provider does not let in")
		const login = "nginx.ingress.kubernetes.io/auth-url"
		unreported := And(HaveField("Status.LoadBalancer.Ingress", BeEmpty()), HaveField("Annotations", Not(HaveKey(HavePrefix(v1alpha1.AnnotationAddressesPrefix)))))
		change(home, ingress, func(i *networkingv1.Ingress) { i.Annotations[login] = "https://login.example.com" })
		t.tells(ingress, field.ReasonAnnotationWithheld, "metadata.annotations["+login+"]")
		Eventually(eu.fetching(remote)).Should(absent)
		Eventually(eu.fetching(cert)).Should(absent)
		Eventually(now(home, ingress)).Should(unreported)
		eu.limit("metadataKeys", "nginx.ingress.kubernetes.io/")
		Eventually(now(eu, remote)).Should(HaveField("Annotations", HaveKeyWithValue(login, "https://login.example.com")))
		addressed()

		By("unbinding the provider")
		home.drop(t.cb)
		Eventually(home.fetching(t.cb)).Should(absent)
		Expect(eu.fetching(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}})()).To(absent)
		Eventually(now(home, ingress)).Should(unreported)
		Expect(now(home, secret)()).To(HaveField("ObjectMeta", And(HaveField("Labels", BeEmpty()), HaveField("Finalizers", BeEmpty()))))
	})
})
