package admission

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	onlyClusterIP = "spec.type must be ClusterIP"
	noExternalIPs = "spec.externalIPs must be empty"
)

// serviceOf is a Service as Spillway sends it, after changes.
func serviceOf(meta metav1.ObjectMeta, changes ...func(*corev1.ServiceSpec)) *corev1.Service {
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	for _, change := range changes {
		change(&service.Spec)
	}
	return service
}

func ofType(t corev1.ServiceType) func(*corev1.ServiceSpec) {
	return func(s *corev1.ServiceSpec) { s.Type = t }
}

func at(address string) func(*corev1.ServiceSpec) {
	return func(s *corev1.ServiceSpec) { s.ClusterIP = address }
}

// TestConsumerServices tests what opens a Service to the outside.
func TestConsumerServices(t *testing.T) {
	consumer := inProvider(t)
	meta := metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "web", Labels: mark()}
	for name, test := range map[string]struct {
		change func(*corev1.ServiceSpec)
		want   string // Part of the refusal; empty: allowed.
	}{
		"a ClusterIP":        {func(*corev1.ServiceSpec) {}, ""},
		"of no type":         {ofType(""), ""},
		"headless":           {at("None"), ""},
		"without a selector": {func(s *corev1.ServiceSpec) { s.Selector = nil }, ""},
		"for its own node": {func(s *corev1.ServiceSpec) {
			s.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		}, ""},
		"a NodePort":        {ofType(corev1.ServiceTypeNodePort), onlyClusterIP},
		"a LoadBalancer":    {ofType(corev1.ServiceTypeLoadBalancer), onlyClusterIP},
		"an ExternalName":   {func(s *corev1.ServiceSpec) { s.Type, s.ExternalName = corev1.ServiceTypeExternalName, "example.com" }, onlyClusterIP},
		"with external IPs": {func(s *corev1.ServiceSpec) { s.ExternalIPs = []string{"192.0.2.1"} }, noExternalIPs},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), serviceOf(meta, test.change), client.DryRunAll), test.want)
		})
	}
	t.Run("of somebody else", func(t *testing.T) {
		foreign := serviceOf(metav1.ObjectMeta{Namespace: namespaceOf(t, nil), Name: "web"}, ofType(corev1.ServiceTypeNodePort))
		refused(t, server(t).Create(t.Context(), foreign, client.DryRunAll), "")
	})
}

// TestConsumerChangesServices: a change cannot open a Service. A Service that the administrator has opened
// can be closed.
func TestConsumerChangesServices(t *testing.T) {
	consumer := inProvider(t)
	namespace := namespaceOf(t, held(mark()))
	open := func(s *corev1.ServiceSpec) { s.Type, s.ExternalIPs = corev1.ServiceTypeNodePort, []string{"192.0.2.1"} }
	alias := func(s *corev1.ServiceSpec) { s.Type, s.ExternalName = corev1.ServiceTypeExternalName, "example.com" }
	for name, test := range map[string]struct {
		change      func(*corev1.ServiceSpec)
		patch, want string
	}{
		"another selector":        {at(""), `{"spec":{"selector":{"app":"api"}}}`, ""},
		"another port":            {at(""), `{"spec":{"ports":[{"port":81}]}}`, ""},
		"a port of each node":     {at(""), `{"spec":{"type":"NodePort"}}`, onlyClusterIP},
		"a load balancer":         {at(""), `{"spec":{"type":"LoadBalancer"}}`, onlyClusterIP},
		"an alias":                {at(""), `{"spec":{"type":"ExternalName","externalName":"example.com","clusterIP":null,"clusterIPs":null}}`, onlyClusterIP},
		"external IPs":            {at(""), `{"spec":{"externalIPs":["192.0.2.1"]}}`, noExternalIPs},
		"one that was opened":     {open, `{"metadata":{"annotations":{"a":"b"}}}`, onlyClusterIP},
		"closing it":              {open, `{"spec":{"type":"ClusterIP","externalIPs":null,"ports":[{"port":80}]}}`, ""},
		"an alias into a Service": {alias, `{"spec":{"type":"ClusterIP","externalName":null}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			there := made(t, serviceOf(metav1.ObjectMeta{Namespace: namespace, GenerateName: "web-", Labels: mark()}, test.change))
			refused(t, consumer.Patch(t.Context(), there, merge(test.patch)), test.want)
			refused(t, consumer.Delete(t.Context(), there), "")
		})
	}
}

// TestConsumerLoadBalancers: a load balancer may have only a class from the limits. The provider assigns
// everything else that opens it.
func TestConsumerLoadBalancers(t *testing.T) {
	limits := changing(t)
	consumer := limits.consumer
	// The name matches those for which authorization.yaml lets the consumer patch Services.
	namespace := temporaryIn(t, spare(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "balanced-demo", Labels: held(mark())}})
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: "web", Labels: mark()}
	balanced := func(class string, changes ...func(*corev1.ServiceSpec)) *corev1.Service {
		of := func(s *corev1.ServiceSpec) {
			s.Type = corev1.ServiceTypeLoadBalancer
			if class != "" {
				s.LoadBalancerClass = &class
			}
		}
		return serviceOf(meta, append([]func(*corev1.ServiceSpec){of}, changes...)...)
	}
	const public, chosen = "example.com/public", "must not be set: the provider assigns them"
	list := func(classes string) {
		data := maps.Clone(limits.shipped.Data)
		data["loadBalancerClasses"] = classes
		limits.become(t, data)
	}
	becomes(t, consumer, balanced(public), onlyClusterIP)
	list("*")
	becomes(t, consumer, balanced(""), "")
	refused(t, consumer.Create(t.Context(), balanced("example.com/any"), client.DryRunAll), "")
	list("default")
	becomes(t, consumer, balanced(public), onlyClusterIP)
	refused(t, consumer.Create(t.Context(), balanced(""), client.DryRunAll), "")
	list("other, " + public)
	becomes(t, consumer, balanced(public), "")
	for name, test := range map[string]struct {
		object *corev1.Service
		want   string
	}{
		"no class":            {balanced(""), onlyClusterIP},
		"another class":       {balanced("example.com/publi"), onlyClusterIP},
		"a NodePort":          {serviceOf(meta, ofType(corev1.ServiceTypeNodePort)), onlyClusterIP},
		"for some":            {balanced(public, func(s *corev1.ServiceSpec) { s.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }), ""},
		"without ports":       {balanced(public, func(s *corev1.ServiceSpec) { s.AllocateLoadBalancerNodePorts = ptr.To(false) }), ""},
		"on its nodes":        {balanced(public, func(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }), ""},
		"external IPs":        {balanced(public, func(s *corev1.ServiceSpec) { s.ExternalIPs = []string{"192.0.2.1"} }), noExternalIPs},
		"an address":          {balanced(public, func(s *corev1.ServiceSpec) { s.LoadBalancerIP = "192.0.2.1" }), chosen},
		"a port of each node": {balanced(public, func(s *corev1.ServiceSpec) { s.Ports[0].NodePort = 30080 }), chosen},
		"a port for health": {balanced(public, func(s *corev1.ServiceSpec) {
			s.ExternalTrafficPolicy, s.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 30081
		}), chosen},
	} {
		t.Run(name, func(t *testing.T) { refused(t, consumer.Create(t.Context(), test.object, client.DryRunAll), test.want) })
	}
	closed, open := serviceOf(meta), balanced(public, func(s *corev1.ServiceSpec) { s.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal })
	closed.Name, open.Name = "closed", "open"
	for _, there := range []*corev1.Service{closed, open} {
		if err := consumer.Create(t.Context(), there); err != nil {
			t.Fatal(err)
		}
	}
	port := fmt.Sprint(open.Spec.Ports[0].NodePort)
	for name, test := range map[string]struct {
		there       *corev1.Service
		patch, want string
	}{
		"opening it":           {closed, `{"spec":{"type":"LoadBalancer","loadBalancerClass":"` + public + `"}}`, ""},
		"as another one":       {closed, `{"spec":{"type":"LoadBalancer","loadBalancerClass":"other.example.com"}}`, onlyClusterIP},
		"at a port":            {closed, `{"spec":{"type":"LoadBalancer","loadBalancerClass":"` + public + `","ports":[{"port":80,"nodePort":30080}]}}`, chosen},
		"as it is":             {open, `{"spec":{"ports":[{"port":80,"protocol":"TCP","nodePort":` + port + `}]}}`, ""},
		"another port":         {open, `{"spec":{"ports":[{"port":81}]}}`, ""},
		"another of each node": {open, `{"spec":{"ports":[{"port":80,"nodePort":30080}]}}`, chosen},
		"an address":           {open, `{"spec":{"loadBalancerIP":"192.0.2.1"}}`, chosen},
		"closing it":           {open, `{"spec":{"type":"ClusterIP","loadBalancerClass":null,"ports":[{"port":80}]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Patch(t.Context(), test.there.DeepCopy(), merge(test.patch), client.DryRunAll), test.want)
		})
	}
	list("other")
	becomes(t, consumer, balanced(public), onlyClusterIP)
	t.Run("one that is listed no longer", func(t *testing.T) {
		refused(t, consumer.Patch(t.Context(), open.DeepCopy(), merge(`{"spec":{"selector":{"app":"api"}}}`), client.DryRunAll), onlyClusterIP)
		refused(t, consumer.Patch(t.Context(), open.DeepCopy(), merge(`{"spec":{"type":"ClusterIP","loadBalancerClass":null,"ports":[{"port":80}]}}`), client.DryRunAll), "")
		refused(t, consumer.Delete(t.Context(), open.DeepCopy(), client.DryRunAll), "")
	})
}
