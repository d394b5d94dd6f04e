package admission

import (
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

// serviceOf is a Service as Spillway sends them, after changes.
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

// TestConsumerServices is about what opens a Service to the outside.
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

// TestConsumerChangesServices: nothing is opened later, and what the administrator has
// opened can be closed.
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
