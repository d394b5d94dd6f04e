package admission

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// httpRouteOf is an HTTPRoute at Gateway gateways/public, for the host web.example.com.
func httpRouteOf(meta metav1.ObjectMeta, changes ...func(*gatewayv1.HTTPRouteSpec)) *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{ObjectMeta: meta, Spec: gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Namespace: ptr.To[gatewayv1.Namespace]("gateways"), Name: "public"}}},
		Hostnames:       []gatewayv1.Hostname{"web.example.com"},
		Rules:           []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: backendOf("web")}}}}},
	}}
	for _, change := range changes {
		change(&route.Spec)
	}
	return route
}

func backendOf(service gatewayv1.ObjectName) gatewayv1.BackendObjectReference {
	return gatewayv1.BackendObjectReference{Name: service, Port: ptr.To[gatewayv1.PortNumber](80)}
}

// TestConsumerRoutes: a route may have only Gateways and hosts from the limits, leads to Services of its
// namespace, and has no commands for controllers.
func TestConsumerRoutes(t *testing.T) {
	limits := changing(t)
	consumer := limits.consumer
	// The name matches those for which authorization.yaml lets the consumer patch routes.
	own := temporaryIn(t, spare(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gatewayed-demo", Labels: held(mark())}}).Name
	meta := metav1.ObjectMeta{Namespace: own, Name: "web", Labels: mark()}
	in := func(namespace string, labels, annotations map[string]string) *gatewayv1.HTTPRoute {
		return httpRouteOf(metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: labels, Annotations: annotations})
	}
	parent := func(change func(*gatewayv1.ParentReference)) *gatewayv1.HTTPRoute {
		return httpRouteOf(meta, func(s *gatewayv1.HTTPRouteSpec) { change(&s.ParentRefs[0]) })
	}
	hosts := func(names ...gatewayv1.Hostname) *gatewayv1.HTTPRoute {
		return httpRouteOf(meta, func(s *gatewayv1.HTTPRouteSpec) { s.Hostnames = names })
	}
	backend := func(change func(*gatewayv1.BackendObjectReference)) *gatewayv1.HTTPRoute {
		return httpRouteOf(meta, func(s *gatewayv1.HTTPRouteSpec) { change(&s.Rules[0].BackendRefs[0].BackendObjectReference) })
	}
	filter := func(f gatewayv1.HTTPRouteFilter) *gatewayv1.HTTPRoute {
		return httpRouteOf(meta, func(s *gatewayv1.HTTPRouteSpec) { s.Rules[0].Filters = []gatewayv1.HTTPRouteFilter{f} })
	}
	mirror := func(change func(*gatewayv1.BackendObjectReference)) gatewayv1.HTTPRouteFilter {
		to := backendOf("shadow")
		change(&to)
		return gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterRequestMirror, RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{BackendRef: to}}
	}
	extension := gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterExtensionRef, ExtensionRef: &gatewayv1.LocalObjectReference{Group: "example.com", Kind: "Auth", Name: "a"}}
	const (
		gateways, among = "must be Gateways among the gateways", "must be among the ingressHosts"
		services, types = "must be Services, without group and namespace", "must be of type"
	)
	list := func(gateways, hosts, keys string) {
		data := maps.Clone(limits.shipped.Data)
		data["gateways"], data["ingressHosts"], data["metadataKeys"] = gateways, hosts, keys
		limits.become(t, data)
	}
	becomes(t, consumer, httpRouteOf(meta), gateways)
	list("gateways/public", "other.example.com, second=*, "+shippedAccount+"=*.example.com", "example.com/")
	becomes(t, consumer, httpRouteOf(meta), "")
	for name, test := range map[string]struct {
		object client.Object
		want   string
	}{
		"another Gateway":          {parent(func(p *gatewayv1.ParentReference) { p.Name = "internal" }), gateways},
		"one of its own namespace": {parent(func(p *gatewayv1.ParentReference) { p.Namespace = nil }), gateways},
		"no parent":                {httpRouteOf(meta, func(s *gatewayv1.HTTPRouteSpec) { s.ParentRefs = nil }), gateways},
		"a mesh": {parent(func(p *gatewayv1.ParentReference) {
			p.Group, p.Kind = ptr.To[gatewayv1.Group](""), ptr.To[gatewayv1.Kind]("Service")
		}), gateways},
		"hosts below":         {hosts("a.b.example.com", "*.c.example.com"), ""},
		"another host":        {hosts("web.example.com", "example.org"), among},
		"every host":          {hosts(), among},
		"a Service elsewhere": {backend(func(b *gatewayv1.BackendObjectReference) { b.Namespace = ptr.To[gatewayv1.Namespace]("default") }), services},
		"no Service":          {backend(func(b *gatewayv1.BackendObjectReference) { b.Kind = ptr.To[gatewayv1.Kind]("Secret") }), services},
		"of another group":    {backend(func(b *gatewayv1.BackendObjectReference) { b.Group = ptr.To[gatewayv1.Group]("example.com") }), services},
		"a mirror":            {filter(mirror(func(*gatewayv1.BackendObjectReference) {})), ""},
		"a mirror elsewhere":  {filter(mirror(func(b *gatewayv1.BackendObjectReference) { b.Namespace = ptr.To[gatewayv1.Namespace]("default") })), types},
		"an extension":        {filter(extension), types},
		"an extension of a backend": {httpRouteOf(meta, func(s *gatewayv1.HTTPRouteSpec) {
			s.Rules[0].BackendRefs[0].Filters = []gatewayv1.HTTPRouteFilter{extension}
		}), types},
		"a GRPCRoute": {&gatewayv1.GRPCRoute{ObjectMeta: meta, Spec: gatewayv1.GRPCRouteSpec{
			CommonRouteSpec: httpRouteOf(meta).Spec.CommonRouteSpec, Hostnames: []gatewayv1.Hostname{"web.example.com"},
		}}, ""},
		"a GRPCRoute with an extension": {&gatewayv1.GRPCRoute{ObjectMeta: meta, Spec: gatewayv1.GRPCRouteSpec{
			CommonRouteSpec: httpRouteOf(meta).Spec.CommonRouteSpec, Hostnames: []gatewayv1.Hostname{"web.example.com"},
			Rules: []gatewayv1.GRPCRouteRule{{Filters: []gatewayv1.GRPCRouteFilter{{Type: gatewayv1.GRPCRouteFilterExtensionRef, ExtensionRef: extension.ExtensionRef}}}},
		}}, types},
		"an annotation":           {in(own, mark(), map[string]string{"example.com/a": "x"}), ""},
		"a command":               {in(own, mark(), map[string]string{"example.org/a": "x"}), "none of its reservedKeys"},
		"without a mark":          {in(own, nil, nil), markIsNot},
		"of another":              {in(own, markBut(v1alpha1.LabelOrigin, "other"), nil), markIsNot},
		"in no namespace of ours": {in("default", mark(), nil), notMarked},
		"as large as it can be":   {largestRoute(meta), ""},
	} {
		t.Run(name, func(t *testing.T) { refused(t, consumer.Create(t.Context(), test.object, client.DryRunAll), test.want) })
	}
	there := httpRouteOf(meta)
	if err := consumer.Create(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ patch, want string }{
		"a host below":    {`{"spec":{"hostnames":["b.example.com"]}}`, ""},
		"another Gateway": {`{"spec":{"parentRefs":[{"name":"internal"}]}}`, gateways},
		"another host":    {`{"spec":{"hostnames":["example.org"]}}`, among},
		"the mark":        {`{"metadata":{"labels":{"spillway.io/origin":"other"}}}`, markIsNot},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Patch(t.Context(), there.DeepCopy(), merge(test.patch), client.DryRunAll), test.want)
		})
	}
	refused(t, consumer.Status().Patch(t.Context(), there.DeepCopy(), merge(`{"status":{"parents":[]}}`)), `cannot patch resource "httproutes/status"`)
	list("gateways/public", "", "")
	becomes(t, consumer, httpRouteOf(metav1.ObjectMeta{Namespace: own, Name: "other", Labels: mark()}), among)
	refused(t, consumer.Delete(t.Context(), there), "")
}

// largestRoute has as many rules, backends, filters and hosts as an HTTPRoute may have.
func largestRoute(meta metav1.ObjectMeta) *gatewayv1.HTTPRoute {
	const most = 16
	return httpRouteOf(meta, func(s *gatewayv1.HTTPRouteSpec) {
		s.Hostnames, s.Rules = nil, nil
		for i := range most {
			s.Hostnames = append(s.Hostnames, gatewayv1.Hostname(fmt.Sprintf("h%d.example.com", i)))
			rule := gatewayv1.HTTPRouteRule{}
			for j := range most {
				to := backendOf(gatewayv1.ObjectName(fmt.Sprintf("s%d", j)))
				backend := gatewayv1.HTTPBackendRef{BackendRef: gatewayv1.BackendRef{BackendObjectReference: to}}
				for range most {
					backend.Filters = append(backend.Filters, gatewayv1.HTTPRouteFilter{
						Type: gatewayv1.HTTPRouteFilterRequestMirror, RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{BackendRef: to},
					})
				}
				rule.BackendRefs = append(rule.BackendRefs, backend)
			}
			s.Rules = append(s.Rules, rule)
		}
	})
}
