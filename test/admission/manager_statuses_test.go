package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// TestManagerStatuses: in the status of a Service or an Ingress, the manager writes only addresses of load
// balancers in providers. In the status of a route, it writes only the reports of the controllers there.
func TestManagerStatuses(t *testing.T) {
	needsNoManager(t)
	manager := inConsumer(t)
	namespace := namespaceOf(t, nil)
	service := func(name string, changes ...func(*corev1.ServiceSpec)) *corev1.Service {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "1"}, Finalizers: []string{"example.com/mine"}}
		return temporary(t, serviceOf(meta, changes...))
	}
	balanced := service("balanced", ofType(corev1.ServiceTypeLoadBalancer), func(s *corev1.ServiceSpec) { s.LoadBalancerClass = ptr.To("example.com/public") })
	cloud, plain := service("cloud", ofType(corev1.ServiceTypeLoadBalancer)), service("plain")
	told := temporary(t, serviceOf(metav1.ObjectMeta{Namespace: namespace, Name: "told", Annotations: map[string]string{"addresses.spillway.io/eu": "203.0.113.1"}}))
	moved := temporary(t, serviceOf(metav1.ObjectMeta{Namespace: namespace, Name: "moved", Annotations: map[string]string{"addresses.spillway.io/eu": "203.0.113.1"}}, ofType(corev1.ServiceTypeLoadBalancer)))
	moved.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.9", IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)}}
	if err := server(t).Status().Update(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	route := temporary(t, ingressOf(metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: map[string]string{"app": "web"}}))
	old := temporary(t, ingressOf(metav1.ObjectMeta{Namespace: namespace, Name: "old"}, func(s *networkingv1.IngressSpec) { s.IngressClassName = nil }))
	served := temporary(t, ingressOf(metav1.ObjectMeta{Namespace: namespace, Name: "served"}, func(s *networkingv1.IngressSpec) { s.IngressClassName = nil }))
	served.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.1"}, {IP: "203.0.113.2"}}
	if err := server(t).Status().Update(t.Context(), served); err != nil {
		t.Fatal(err)
	}
	gatewayed := temporary(t, httpRouteOf(metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: map[string]string{"app": "web"}}))
	gatewayed.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: gatewayed.Spec.ParentRefs[0], ControllerName: "example.com/home", Conditions: []metav1.Condition{
		{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.Unix(1e9, 0)},
	}}}
	if err := server(t).Status().Update(t.Context(), gatewayed); err != nil {
		t.Fatal(err)
	}
	const (
		said      = `{"parentRef":{"namespace":"gateways","name":"public"},"controllerName":"spillway.io/eu","conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`
		others    = `{"parentRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","namespace":"gateways","name":"public"},"controllerName":"example.com/home","conditions":[{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":"2001-09-09T01:46:40Z"}]}`
		reached   = `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.1"},{"hostname":"lb.example.com"}]}},"metadata":{"annotations":{"addresses.spillway.io/eu":"203.0.113.1,lb.example.com"}}}`
		metadata  = `{"metadata":{"annotations":{"addresses.spillway.io/eu":"203.0.113.1"}}}`
		addresses = `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.1","ipMode":"Proxy"},{"hostname":"lb.example.com"}]}},"metadata":{"annotations":{"addresses.spillway.io/eu":"203.0.113.1,lb.example.com"}}}`
		captured  = "must have ipMode Proxy, and no ports"
	)
	attempt(t, map[string]try{
		"addresses":                  {patching(manager, balanced, addresses, "status"), ""},
		"an address to be captured":  {patching(manager, balanced, `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.1","ipMode":"VIP"}]}}}`, "status"), captured},
		"an address by default":      {patching(manager, balanced, `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.1"}]}}}`, "status"), captured},
		"an address with ports":      {patching(manager, balanced, `{"status":{"loadBalancer":{"ingress":[{"hostname":"lb.example.com","ports":[{"port":80,"protocol":"TCP"}]}]}}}`, "status"), captured},
		"a condition":                {patching(manager, balanced, `{"status":{"conditions":[{"type":"A","status":"True","reason":"A","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, "status"), "status.conditions must not change"},
		"addresses of a cloud's":     {patching(manager, cloud, addresses, "status"), "status.loadBalancer may only lose addresses"},
		"an annotation of a cloud's": {patching(manager, cloud, metadata, "status"), ""},
		"what is left":               {patching(manager, told, `{"metadata":{"annotations":{"addresses.spillway.io/eu":null}}}`, "status"), ""},
		"what is left beside one":    {patching(manager, moved, `{"metadata":{"annotations":{"addresses.spillway.io/eu":null}}}`, "status"), ""},
		"an annotation of others":    {patching(manager, balanced, `{"metadata":{"annotations":{"note":null}}}`, "status"), "metadata.annotations[note] must not change"},
		"fewer addresses":            {patching(manager, served, `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.2"}]}}}`, "status"), ""},
		"another address":            {patching(manager, served, `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.3"}]}}}`, "status"), "status.loadBalancer may only lose addresses"},
		"a label":                    {patching(manager, balanced, `{"metadata":{"labels":{"app":"api"}}}`, "status"), "metadata.labels must not change"},
		"a finalizer":                {patching(manager, balanced, `{"metadata":{"finalizers":null}}`, "status"), "metadata.finalizers must not change"},
		"of an Ingress":              {patching(manager, route, reached, "status"), ""},
		"of one without a class":     {patching(manager, old, reached, "status"), "status.loadBalancer may only lose addresses"},
		"a port of an Ingress":       {patching(manager, route, `{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.1","ports":[{"port":80,"protocol":"TCP"}]}]}}}`, "status"), captured},
		"a label of an Ingress":      {patching(manager, route, `{"metadata":{"labels":{"app":"api"}}}`, "status"), "metadata.labels must not change"},
		"the Ingress itself":         {patching(manager, route, `{"spec":{"ingressClassName":"other"}}`), `cannot patch resource "ingresses"`},
		"the deletion of an Ingress": {deleting(manager, route.DeepCopy()), `cannot delete resource "ingresses"`},
		"of a route":                 {patching(manager, gatewayed, `{"status":{"parents":[`+others+`,`+said+`]}}`, "status"), ""},
		"for another controller":     {patching(manager, gatewayed, `{"status":{"parents":[`+strings.ReplaceAll(said, "spillway.io/eu", "example.com/eu")+`,`+others+`]}}`, "status"), "must not change"},
		"without another controller": {patching(manager, gatewayed, `{"status":{"parents":[`+said+`]}}`, "status"), "must not change"},
		"the route itself":           {patching(manager, gatewayed, `{"spec":{"hostnames":["a.example.com"]}}`), `cannot patch resource "httproutes"`},
		"the deletion of a route":    {deleting(manager, gatewayed.DeepCopy()), `cannot delete resource "httproutes"`},
		"the Service itself":         {patching(manager, plain, `{"spec":{"selector":{"app":"api"}}}`), `cannot patch resource "services"`},
		"the deletion":               {deleting(manager, plain.DeepCopy()), `cannot delete resource "services"`},
	})
}
