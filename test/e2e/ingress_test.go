//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// There is no ingress controller: the specs play the one of the provider.
var _ = Describe("An Ingress of a class that is imported from a provider", Ordered, func() {
	const address = "203.0.113.7"
	var (
		navy       *team
		ingress    *networkingv1.Ingress
		remote     client.Object
		imported   = &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "eu-public"}}
		there      = &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/ingress"}}
		limits     = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: v1alpha1.LimitsName}}
		setClasses = func(classes string) {
			GinkgoHelper()
			consumer.mustKubectl("patch", "clusterbinding", eu.Name(), "--type=merge", "-p", `{"spec":{"classes":`+classes+`}}`)
		}
		allow = func(classes, hosts string) {
			GinkgoHelper()
			eu.mustKubectl("patch", "configmap", limits.Name, "-n", limits.Namespace, "--type=merge", "-p", `{"data":{"ingressClasses":"`+classes+`","ingressHosts":"`+hosts+`"}}`)
		}
	)

	BeforeAll(func() {
		eu.create(there)
		DeferCleanup(func() { Expect(eu.Delete(ctx, there)).To(Succeed()) })
		allow("public", "*.example.com")
		DeferCleanup(func() { allow("", "") })
		setClasses(`[{"kind":"IngressClass","name":"eu-public","remoteName":"public","import":true}]`)
		DeferCleanup(func() { setClasses("null") })
		navy = newTeam("navy", eu)
	})

	It("has the class here", func() {
		Eventually(read(consumer, imported, &networkingv1.IngressClass{})).Should(HaveField("Spec.Controller", v1alpha1.IngressController))
	})

	It("is served there, and shows the address here", func() {
		ingress = &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: navy.namespace, Name: "web"}, Spec: networkingv1.IngressSpec{
			IngressClassName: ptr.To(imported.Name),
			Rules: []networkingv1.IngressRule{{Host: "web.example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
					Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
				}}},
			}}}},
		}}
		consumer.create(serviceIn(navy.namespace), ingress)
		remote = navy.remoteOf(ingress)
		Eventually(read(eu, remote, &networkingv1.Ingress{})).Should(HaveField("Spec.IngressClassName", HaveValue(Equal(there.Name))))
		eu.mustKubectl("patch", "ingress", ingress.Name, "-n", navy.remote, "--subresource=status", "--type=merge",
			"-p", `{"status":{"loadBalancer":{"ingress":[{"ip":"`+address+`"}]}}}`)
		Eventually(read(consumer, ingress, &networkingv1.Ingress{})).Should(HaveField("Status.LoadBalancer.Ingress", ConsistOf(HaveField("IP", address))))
	})

	It("goes there when the class is mapped no more, with the address and the class here", func() {
		setClasses("null")
		Eventually(read(eu, remote, &networkingv1.Ingress{})).Should(beGone())
		Eventually(read(consumer, ingress, &networkingv1.Ingress{})).Should(And(
			HaveField("Status.LoadBalancer.Ingress", BeEmpty()), HaveField("ObjectMeta.Annotations", BeEmpty())))
		Eventually(read(consumer, imported, &networkingv1.IngressClass{})).Should(beGone())
	})
})
