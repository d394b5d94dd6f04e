package admission

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// ingressOf is an Ingress of class public, for the host web.example.com.
func ingressOf(meta metav1.ObjectMeta, changes ...func(*networkingv1.IngressSpec)) *networkingv1.Ingress {
	ingress := &networkingv1.Ingress{ObjectMeta: meta, Spec: networkingv1.IngressSpec{
		IngressClassName: ptr.To("public"), Rules: []networkingv1.IngressRule{{Host: "web.example.com"}},
	}}
	for _, change := range changes {
		change(&ingress.Spec)
	}
	return ingress
}

// TestConsumerIngresses: an Ingress may have only a class and hosts from the limits, leads to Services, and
// has no commands for controllers. TestRoutesPolicy in controllers/toprovider/ingress has the rest.
func TestConsumerIngresses(t *testing.T) {
	limits := changing(t)
	consumer := limits.consumer
	// The name matches those for which authorization.yaml lets the consumer patch Ingresses.
	namespace := func(name string, labels map[string]string) string {
		return temporaryIn(t, spare(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: held(labels)}}).Name
	}
	own, others := namespace("routed-demo", mark()), namespace("others-demo", markOf("second"))
	meta := metav1.ObjectMeta{Namespace: own, Name: "web", Labels: mark()}
	in := func(namespace string, labels, annotations map[string]string) *networkingv1.Ingress {
		return ingressOf(metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: labels, Annotations: annotations})
	}
	host := func(name string) func(*networkingv1.IngressSpec) {
		return func(s *networkingv1.IngressSpec) { s.Rules[0].Host = name }
	}
	backend := networkingv1.IngressBackend{Resource: &corev1.TypedLocalObjectReference{Kind: "Bucket", Name: "b"}}
	const (
		class, hosts = "must be one of the ingressClasses", "must be among the ingressHosts"
		command      = "nginx.ingress.kubernetes.io/server-snippet"
	)
	list := func(classes, hosts, keys string) {
		data := maps.Clone(limits.shipped.Data)
		data["ingressClasses"], data["ingressHosts"], data["metadataKeys"] = classes, hosts, keys
		limits.become(t, data)
	}
	becomes(t, consumer, ingressOf(meta), class)
	list("public", "other.example.com, second=*, "+shippedAccount+"=*.example.com", "nginx.ingress.kubernetes.io/")
	becomes(t, consumer, ingressOf(meta), "")
	for name, test := range map[string]struct {
		object *networkingv1.Ingress
		want   string
	}{
		"another class":           {ingressOf(meta, func(s *networkingv1.IngressSpec) { s.IngressClassName = ptr.To("internal") }), class},
		"no class":                {ingressOf(meta, func(s *networkingv1.IngressSpec) { s.IngressClassName = nil }), class},
		"of a subdomain":          {ingressOf(meta, host("a.b.example.com")), ""},
		"of all below":            {ingressOf(meta, host("*.example.com")), ""},
		"another host":            {ingressOf(meta, host("example.org")), hosts},
		"every host":              {ingressOf(meta, host("")), hosts},
		"another of TLS":          {ingressOf(meta, func(s *networkingv1.IngressSpec) { s.TLS = []networkingv1.IngressTLS{{Hosts: []string{"example.org"}}} }), hosts},
		"no Service":              {ingressOf(meta, func(s *networkingv1.IngressSpec) { s.DefaultBackend = &backend }), "may use only Services"},
		"an annotation":           {in(own, mark(), map[string]string{"nginx.ingress.kubernetes.io/auth-url": "https://example.com"}), ""},
		"a command":               {in(own, mark(), map[string]string{command: "x"}), "none of its reservedKeys"},
		"an older class":          {in(own, mark(), map[string]string{"kubernetes.io/ingress.class": "public"}), "kubernetes.io/ingress.class"},
		"without a mark":          {in(own, nil, nil), markIsNot},
		"of another":              {in(own, markBut(v1alpha1.LabelOrigin, "other"), nil), markIsNot},
		"another account's":       {in(others, markOf("second"), nil), notYours},
		"in no namespace of ours": {in("default", mark(), nil), notMarked},
	} {
		t.Run(name, func(t *testing.T) { refused(t, consumer.Create(t.Context(), test.object, client.DryRunAll), test.want) })
	}
	there := ingressOf(meta)
	if err := consumer.Create(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ patch, want string }{
		"another path":  {`{"spec":{"rules":[{"host":"web.example.com","http":{"paths":[{"pathType":"Prefix","path":"/","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}`, ""},
		"another class": {`{"spec":{"ingressClassName":"internal"}}`, class},
		"another host":  {`{"spec":{"rules":[{"host":"example.org"}]}}`, hosts},
		"a command":     {`{"metadata":{"annotations":{"` + command + `":"x"}}}`, "none of its reservedKeys"},
		"the mark":      {`{"metadata":{"labels":{"spillway.io/origin":"other"}}}`, markIsNot},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, consumer.Patch(t.Context(), there.DeepCopy(), merge(test.patch), client.DryRunAll), test.want)
		})
	}
	refused(t, consumer.Status().Patch(t.Context(), there.DeepCopy(), merge(`{"status":{"loadBalancer":{"ingress":[{"ip":"203.0.113.1"}]}}}`)), `cannot patch resource "ingresses/status"`)
	list("public", "", "")
	becomes(t, consumer, ingressOf(meta), hosts)
	refused(t, consumer.Delete(t.Context(), there), "")
}
