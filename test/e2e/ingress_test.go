//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// There is no ingress controller: the specs play the provider's. They apply what docs/applications.md moves.
var _ = Describe("An application that is moved to a provider, with an Ingress of a class that is imported", Ordered, Label("pods"), func() {
	const address = "203.0.113.7"
	var (
		application = filepath.Join(root(), "hack", "demo", "manifests", "web.yaml")
		imported    = &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "eu-public"}}
		there       = &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: networkingv1.IngressClassSpec{Controller: "example.com/ingress"}}
		limits      = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: v1alpha1.LimitsName}}
		teamA       *team
		ingress     *networkingv1.Ingress
		remote      client.Object
		setClasses  = func(classes string) {
			GinkgoHelper()
			consumer.mustKubectl("patch", "clusterbinding", eu.Name(), "--type=merge", "-p", `{"spec":{"classes":`+classes+`}}`)
		}
		allow = func(classes, hosts string) {
			GinkgoHelper()
			eu.mustKubectl("patch", "configmap", limits.Name, "-n", limits.Namespace, "--type=merge", "-p", `{"data":{"ingressClasses":"`+classes+`","ingressHosts":"`+hosts+`"}}`)
		}
		nodes = func() ([]string, error) { return consumer.nodesOf(teamA.namespace) }
	)

	BeforeAll(func() {
		if os.Getenv("E2E_CLUSTERS") == "kind" {
			Skip("the image of the application is for nodes of kwok")
		}
		eu.create(there)
		DeferCleanup(func() { Expect(eu.Delete(ctx, there)).To(Succeed()) })
		allow("public", "*.example.com")
		DeferCleanup(func() { allow("", "") })
		setClasses(`[{"kind":"IngressClass","name":"eu-public","remoteName":"public","import":true}]`)
		DeferCleanup(func() { setClasses("null") })

		teamA = &team{namespace: "team-a", remote: "team-a-" + consumerID, provider: eu}
		local := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: teamA.namespace}}
		ingress = &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: teamA.namespace, Name: "web"}}
		remote = teamA.remoteOf(ingress)
		consumer.create(local)
		DeferCleanup(func() { Expect(client.IgnoreNotFound(consumer.Delete(ctx, local))).To(Succeed()) })
		DeferCleanup(func() { reportFailure(teamA) })
	})

	It("runs at home, and the class is there", func() {
		Eventually(read(consumer, imported, &networkingv1.IngressClass{})).Should(HaveField("Spec.Controller", v1alpha1.IngressController))
		consumer.mustKubectl("apply", "-f", application)
		teamA.rolledOut("web")
		Expect(nodes()).To(HaveEach(Not(Equal(virtualNode(eu.Name())))))
	})

	It("is in the provider, all of it, when it is offloaded and rolled out anew", func() {
		consumer.mustKubectl("apply", "-f", filepath.Join(filepath.Dir(application), "team-a.yaml"))
		Eventually(read(consumer, teamA.offloading(), &v1alpha1.NamespaceOffloading{})).Should(haveCondition(v1alpha1.OffloadingReady, metav1.ConditionTrue))
		consumer.awaitPolicy(teamA.namespace)
		consumer.mustKubectl("rollout", "restart", "deployment/web", "-n", teamA.namespace)
		teamA.rolledOut("web")
		Eventually(nodes).Should(And(HaveLen(3), HaveEach(virtualNode(eu.Name()))))
		Eventually(func() []string {
			return strings.Fields(eu.mustKubectl("get", "pods,services,networkpolicies,ingresses,poddisruptionbudgets,configmaps,secrets", "-n", teamA.remote,
				"-l", v1alpha1.LabelManagedBy+"="+v1alpha1.ManagedBySpillway, "-o", "name"))
		}).Should(ConsistOf(HavePrefix("pod/web-"), HavePrefix("pod/web-"), HavePrefix("pod/web-"), "service/web", "networkpolicy.networking.k8s.io/web",
			"ingress.networking.k8s.io/web", "poddisruptionbudget.policy/web", "configmap/settings", "secret/credentials"))
	})

	It("shows the address that its Ingress has there", func() {
		Expect(read(eu, remote, &networkingv1.Ingress{})()).To(HaveField("Spec.IngressClassName", HaveValue(Equal(there.Name))))
		eu.mustKubectl("patch", "ingress", ingress.Name, "-n", teamA.remote, "--subresource=status", "--type=merge",
			"-p", `{"status":{"loadBalancer":{"ingress":[{"ip":"`+address+`"}]}}}`)
		Eventually(read(consumer, ingress, &networkingv1.Ingress{})).Should(HaveField("Status.LoadBalancer.Ingress", ConsistOf(HaveField("IP", address))))
	})

	It("comes home, and leaves nothing in the provider", func() {
		consumer.mustKubectl("delete", "namespaceoffloading", v1alpha1.OffloadingName, "-n", teamA.namespace, "--timeout="+patience.String())
		Expect(read(eu, teamA.remoteNamespace(), &corev1.Namespace{})()).To(beGone(), "the offloading outlives the remote namespace")
		teamA.rolledOut("web")
		Eventually(nodes).Should(And(HaveLen(3), HaveEach(Not(Equal(virtualNode(eu.Name()))))))
		for _, kind := range []string{"configmap/settings", "secret/credentials", "service/web", "ingress/web", "networkpolicy/web", "poddisruptionbudget/web", "deployment/web"} {
			Eventually(consumer.mustKubectl).WithArguments("get", kind, "-n", teamA.namespace, "-o", "yaml").ShouldNot(ContainSubstring(v1alpha1.Domain), "%s is as the team has made it", kind)
		}
	})

	It("leaves no class when that is not imported any more", func() {
		setClasses("null")
		Eventually(read(consumer, imported, &networkingv1.IngressClass{})).Should(beGone())
	})
})
