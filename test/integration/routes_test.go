package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/route"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/manifests"
)

// serveRoutes installs the CustomResourceDefinitions of routes.
func (c *controlPlane) serveRoutes() {
	GinkgoHelper()
	crds, err := manifests.GatewayAPI(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(manifests.Create(ctx, c, crds)).To(Succeed())
}

// parentOf refers to a Gateway by "namespace/name".
func parentOf(gateway string) gatewayv1.ParentReference {
	namespace, name, _ := strings.Cut(gateway, "/")
	return gatewayv1.ParentReference{Namespace: ptr.To(gatewayv1.Namespace(namespace)), Name: gatewayv1.ObjectName(name)}
}

// test/kinds tests what all kinds have in common, such as that changes follow.
var _ = Describe("The routes of an offloaded namespace", func() {
	It("are served in a provider if their Gateway is mapped, once both clusters know routes, and un-offloading leaves nothing", func() {
		t := newTeam()
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
		here, there := "gateways/"+unique("here"), "gateways/"+unique("there")
		restart(fleet.Options{}) // A manager that has looked for hours in vain looks only three times a minute.
		home.bindingIsReady(t.cb)
		home.serveRoutes()
		created := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("web")}, Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{parentOf("gateways/home"), parentOf(here)}},
			Hostnames:       []gatewayv1.Hostname{"web.example.com"},
		}}
		home.make(created)
		t.passes()
		Expect(home.eventsAbout(created)()).To(BeEmpty(), "an ordinary route is none of our business")

		By("mapping its Gateway, which the provider does not list")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassGateway, Name: here, RemoteName: there}}
		})
		t.tells(created, field.ReasonClassNotAllowed, "does not allow the Gateway "+there)
		eu.limit("gateways", there)
		t.tells(created, field.ReasonHostNotAllowed, "spec.hostnames[0] is web.example.com: the provider does not list it")
		Expect(home.condition(t.cb, v1alpha1.BindingReady)()).To(isTrue(v1alpha1.ReasonReady))
		Expect(home.binding(t.cb.Name)).To(HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", v1alpha1.BindingLimited)))), "nothing is to be sent of what the provider does not know")
		eu.limit("ingressHosts", "*.example.com")
		t.tells(created, v1alpha1.ReasonKindNotServed, "does not serve httproutes")
		Eventually(home.condition(t.cb, v1alpha1.BindingLimited)).Should(isTrue(v1alpha1.ReasonKindNotServed, "httproutes", "CustomResourceDefinition"))

		By("installing routes in the provider")
		eu.serveRoutes()
		remote := in(t.remote, created)
		Eventually(now(eu, remote)).Should(HaveField("Spec.ParentRefs", ConsistOf(And(
			HaveField("Name", parentOf(there).Name), HaveField("Namespace", parentOf(there).Namespace)))))
		Eventually(func() (*v1alpha1.ClusterBinding, error) { return home.binding(t.cb.Name) }).Should(
			HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", v1alpha1.BindingLimited)))))

		By("having a controller at home, and one in the provider, say something of it")
		said := func(controller gatewayv1.GatewayController, parent gatewayv1.ParentReference, status metav1.ConditionStatus) gatewayv1.RouteParentStatus {
			return gatewayv1.RouteParentStatus{ControllerName: controller, ParentRef: parent, Conditions: []metav1.Condition{{
				Type: string(gatewayv1.RouteConditionAccepted), Status: status, Reason: "Said", Message: "text", LastTransitionTime: metav1.Unix(1e9, 0),
			}}}
		}
		Expect(home.fetching(created)()).To(Succeed())
		created.Status.Parents = []gatewayv1.RouteParentStatus{said("example.com/home", created.Spec.ParentRefs[0], metav1.ConditionTrue)}
		Expect(home.Status().Update(ctx, created)).To(Succeed())
		Expect(eu.fetching(remote)()).To(Succeed())
		remote.Status.Parents = []gatewayv1.RouteParentStatus{said("example.com/there", remote.Spec.ParentRefs[0], metav1.ConditionFalse)}
		Expect(eu.Status().Update(ctx, remote)).To(Succeed())
		ours := HaveField("ControllerName", gatewayv1.GatewayController(v1alpha1.Domain+"/"+t.cb.Spec.ClusterID))
		others := HaveField("ControllerName", gatewayv1.GatewayController("example.com/home"))
		Eventually(now(home, created)).Should(HaveField("Status.Parents", ConsistOf(others, And(
			ours, HaveField("ParentRef.Name", parentOf(here).Name), HaveField("Conditions", ConsistOf(HaveField("Status", metav1.ConditionFalse)))))))

		By("giving it a filter that cannot be had there")
		change(home, created, func(r *gatewayv1.HTTPRoute) {
			r.Spec.Rules = []gatewayv1.HTTPRouteRule{{Filters: []gatewayv1.HTTPRouteFilter{{
				Type: gatewayv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gatewayv1.LocalObjectReference{Group: "example.com", Kind: "Auth", Name: "login"},
			}}}}
		})
		t.tells(created, route.ReasonFilterNotSent, "spec.rules[0].filters[0].extensionRef")
		Eventually(eu.fetching(remote)).Should(absent)
		Eventually(now(home, created)).Should(HaveField("Status.Parents", ConsistOf(others)))
		change(home, created, func(r *gatewayv1.HTTPRoute) { r.Spec.Rules = nil })
		Eventually(eu.fetching(remote)).Should(Succeed())
		remote.Status.Parents = []gatewayv1.RouteParentStatus{said("example.com/there", remote.Spec.ParentRefs[0], metav1.ConditionTrue)}
		Expect(eu.Status().Update(ctx, remote)).To(Succeed())
		Eventually(now(home, created)).Should(HaveField("Status.Parents", ConsistOf(others, ours)))

		By("un-offloading the namespace")
		home.drop(&v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: v1alpha1.OffloadingName}})
		Eventually(now(home, created)).Should(HaveField("Status.Parents", ConsistOf(others)))
		Eventually(eu.fetching(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}})).Should(absent)
	})
})
