package views

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/translate"
)

const applied = corev1.LastAppliedConfigAnnotation

func withKeys(labels, annotations map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: "settings", Labels: labels, Annotations: annotations}
}

func TestHeldMetadata(t *testing.T) {
	long := strings.Repeat("x", translate.MostMetadata)
	fits, many := long[100:], map[string]string{}
	for i := range 2000 { // Each takes more memory than bytes on the wire.
		many[strconv.Itoa(i)] = ""
	}
	mark := map[string]string{"synced-to.spillway.io/eu": "true"}
	place := map[string]string{"remote.spillway.io/eu": "team-home/settings", "spillway.io/sync": "never"}
	and := func(all map[string]string, key, value string) map[string]string {
		more := map[string]string{key: value}
		for key, value := range all {
			more[key] = value
		}
		return more
	}
	for name, test := range map[string]struct{ in, want metav1.ObjectMeta }{
		"what is sent":                    {withKeys(and(mark, "a", "1"), and(place, "b", "2")), withKeys(and(mark, "a", "1"), and(place, "b", "2"))},
		"nothing":                         {withKeys(nil, nil), withKeys(nil, nil)},
		"what kubectl has applied":        {withKeys(mark, and(place, applied, long)), withKeys(mark, place)},
		"other keys of Spillway's domain": {withKeys(and(mark, "x.spillway.io/a", "b"), and(place, "spillway.io/copied", long)), withKeys(mark, place)},
		"a place that nobody has":         {withKeys(mark, and(place, "remote.spillway.io/us", long)), withKeys(mark, place)},
		"what a tool has applied":         {withKeys(mark, and(place, "kapp.k14s.io/original", long)), withKeys(mark, and(and(place, "kapp.k14s.io/original", ""), translate.DigestKey, "kapp.k14s.io/original"))},
		"more annotations than are sent":  {withKeys(mark, and(place, "b", long)), withKeys(mark, translate.Shortened(and(place, "spillway.io/sync", "never")))},
		"more labels than are sent":       {withKeys(and(mark, long, "1"), nil), withKeys(mark, translate.Shortened(nil))},
		"as much as is sent, and our own": {withKeys(and(mark, "a", fits), place), withKeys(and(mark, "a", fits), place)},
		"many small labels":               {withKeys(many, nil), withKeys(nil, translate.Shortened(nil))},
	} {
		t.Run(name, func(t *testing.T) {
			got := Held(&corev1.PersistentVolumeClaim{ObjectMeta: *test.in.DeepCopy()}).(*corev1.PersistentVolumeClaim)
			if diff := cmp.Diff(test.want, got.ObjectMeta); diff != "" {
				t.Errorf("held (-want +got):\n%.2000s", diff)
			}
			if translate.MetadataTooLarge(got, nil) == nil != (translate.MetadataTooLarge(&test.in, nil) == nil) {
				t.Error("it is refused in one form, and not in the other")
			}
			again := Held(got).(*corev1.PersistentVolumeClaim)
			if diff := cmp.Diff(test.want, again.ObjectMeta); diff != "" {
				t.Errorf("a second time makes something else (-first +second):\n%.2000s", diff)
			}
		})
	}
}

// TestHeldServices tests fields that the API server does not limit in number or length.
func TestHeldServices(t *testing.T) {
	long := strings.Repeat("x", translate.MostMetadata)
	port := corev1.ServicePort{Name: "http", Port: 80}
	for name, test := range map[string]struct{ in, want corev1.ServiceSpec }{
		"what is sent":    {corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{port}}, corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{port}}},
		"a long selector": {corev1.ServiceSpec{Selector: map[string]string{"a": long}, Ports: []corev1.ServicePort{port}}, corev1.ServiceSpec{}},
		"many ports":      {corev1.ServiceSpec{Ports: slices.Repeat([]corev1.ServicePort{port}, 1000)}, corev1.ServiceSpec{}},
		"a load balancer": {
			corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("a"), ExternalIPs: []string{"a"}, LoadBalancerSourceRanges: slices.Repeat([]string{"c"}, 100)},
			corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("a"), ExternalIPs: []string{"a"}, LoadBalancerSourceRanges: slices.Repeat([]string{"c"}, 65)},
		},
		"addresses": {corev1.ServiceSpec{ExternalIPs: []string{"a", "b"}, LoadBalancerSourceRanges: []string{"c"}}, corev1.ServiceSpec{ExternalIPs: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{Spec: test.in, Status: corev1.ServiceStatus{
				Conditions: []metav1.Condition{{Message: long}}, LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}},
			}}
			for range 2 {
				got := Held(service).(*corev1.Service)
				if diff := cmp.Diff(test.want, got.Spec, cmpopts.EquateEmpty()); diff != "" || len(got.Status.Conditions) > 0 || (len(got.Status.LoadBalancer.Ingress) > 0) != (test.want.LoadBalancerClass != nil) {
					t.Errorf("held (-want +got):\n%.2000s", diff)
				}
				if refusal := translate.MetadataTooLarge(got, nil); (refusal != nil) != (test.want.Ports == nil && test.want.ExternalIPs == nil) {
					t.Errorf("it is refused: %v", refusal)
				}
			}
		})
	}
}

// TestHeldBudgets tests a budget's selector, which the API server does not limit either.
func TestHeldBudgets(t *testing.T) {
	selector := func(key string, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Values: values}}}
	}
	for name, test := range map[string]struct {
		in  *metav1.LabelSelector
		cut bool
	}{
		"none":          {nil, false},
		"what is sent":  {selector("a", "b"), false},
		"many values":   {selector("a", make([]string, 2000)...), true},
		"a long key":    {selector(strings.Repeat("x", translate.MostMetadata)), true},
		"a long label":  {&metav1.LabelSelector{MatchLabels: map[string]string{"a": strings.Repeat("x", translate.MostMetadata)}}, true},
		"several words": {selector("a", "b", "c"), false},
	} {
		budget := &policyv1.PodDisruptionBudget{
			Spec:   policyv1.PodDisruptionBudgetSpec{Selector: test.in},
			Status: policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 1, DisruptedPods: map[string]metav1.Time{"web": {}}},
		}
		for range 2 {
			got := Held(budget).(*policyv1.PodDisruptionBudget)
			if cut := got.Spec.Selector == nil && test.in != nil; cut != test.cut || len(got.Status.DisruptedPods) > 0 || got.Status.DesiredHealthy != 1 {
				t.Errorf("%s: held %v", name, got)
			}
			refusal := translate.MetadataTooLarge(got, nil)
			if (refusal != nil) != test.cut || test.cut && !strings.HasPrefix(refusal.Message, "its labels, annotations and selector take") {
				t.Errorf("%s: it is refused: %v", name, refusal)
			}
		}
	}
}

// TestHeldIngresses checks that an Ingress with too much of anything keeps only its class, so that it is
// refused. That includes an Ingress whose annotations are not held, because they may restrict access to it.
func TestHeldIngresses(t *testing.T) {
	rules := []networkingv1.IngressRule{{Host: "a.example.com"}}
	for name, test := range map[string]struct {
		rules      []networkingv1.IngressRule
		annotation string
		cut        bool
	}{
		"what is sent":      {rules, "x", false},
		"many rules":        {make([]networkingv1.IngressRule, 1000), "x", true},
		"a long annotation": {rules, strings.Repeat("x", translate.MostMetadata), true},
	} {
		ingress := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": test.annotation, v1alpha1.AnnotationAddressesPrefix + "eu": "203.0.113.1"}},
			Spec:       networkingv1.IngressSpec{IngressClassName: ptr.To("public"), Rules: test.rules},
		}
		for range 2 {
			got := Held(ingress).(*networkingv1.Ingress)
			if cut := len(got.Spec.Rules) == 0; cut != test.cut || *got.Spec.IngressClassName != "public" || got.Annotations[v1alpha1.AnnotationAddressesPrefix+"eu"] == "" {
				t.Errorf("%s: held %v", name, got)
			}
		}
	}
}

func TestHeldContent(t *testing.T) {
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	data := map[string]string{"key": strings.Repeat("x", 1_000_000)}
	owned := metav1.ObjectMeta{ManagedFields: managed, OwnerReferences: []metav1.OwnerReference{{Name: "a"}}}
	m := Held(&corev1.ConfigMap{ObjectMeta: owned, Data: data}).(*corev1.ConfigMap)
	if m.ManagedFields != nil || m.OwnerReferences != nil || len(m.Data["key"]) > 0 || translate.ContentSize(m) < 1_000_000 {
		t.Errorf("held is %v", m)
	}
	labels := map[string]string{"a": strings.Repeat("x", translate.MostMetadata+1), "spillway.io/local-uid": "1"}
	pod := Held(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ManagedFields: managed, Labels: labels}}).(*corev1.Pod)
	if pod.ManagedFields != nil || len(pod.Labels) != 2 {
		t.Errorf("of a pod is held %v", pod)
	}
	if Held("text") != "text" {
		t.Error("what is no object is changed")
	}
}

// TestMarksAreBounded tests more marks than bindings can exist, because anybody may write marks.
func TestMarksAreBounded(t *testing.T) {
	labels, annotations := map[string]string{}, map[string]string{}
	var names []string
	for i := range 5000 {
		labels["synced-to.spillway.io/c"+strconv.Itoa(i)] = "true"
		annotations["remote.spillway.io/c"+strconv.Itoa(i)] = strings.Repeat("x", mostValue)
		names = append(names, "sync.spillway.io/c"+strconv.Itoa(i))
	}
	in := withKeys(labels, annotations)
	in.Finalizers = names
	catalogued, err := trimMetadata(&metav1.PartialObjectMetadata{ObjectMeta: *in.DeepCopy()})
	if err != nil {
		t.Fatal(err)
	}
	for _, held := range []metav1.Object{Held(&corev1.Secret{ObjectMeta: *in.DeepCopy()}).(metav1.Object), catalogued.(metav1.Object)} {
		size := 0
		for key, value := range held.GetAnnotations() {
			size += translate.EntrySize(key, value)
		}
		if size < translate.MostMetadata/2 || size > translate.MostMetadata+mostValue+100 {
			t.Errorf("%T: %d bytes of annotations are held", held, size)
		}
		for what, n := range map[string]int{"labels": len(held.GetLabels()), "finalizers": len(held.GetFinalizers())} {
			if n < 256 || n >= 5000 {
				t.Errorf("%T: %d %s are held, want those of 256 bindings, and not all", held, n, what)
			}
		}
	}
}

func TestCatalogueKeepsKnownKeys(t *testing.T) {
	long := strings.Repeat("x", mostValue+1)
	in := &metav1.PartialObjectMetadata{ObjectMeta: withKeys(
		map[string]string{"app": "web", "synced-to.spillway.io/eu": "true", "spillway.io/sync": "never", "x.spillway.io/y": "z", "notspillway.io/sync": "never"},
		map[string]string{"remote.spillway.io/eu": "team-home/settings", "remote.spillway.io/us": long, "spillway.io/junk": long, applied: long},
	)}
	want := withKeys(map[string]string{"synced-to.spillway.io/eu": "true", "spillway.io/sync": "never"},
		map[string]string{"remote.spillway.io/eu": "team-home/settings"})
	got, err := trimMetadata(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.(*metav1.PartialObjectMetadata).ObjectMeta); diff != "" {
		t.Errorf("the catalogue keeps (-want +got):\n%s", diff)
	}
}

// TestHeldPolicies tests empty rules: each takes sixteen times as much memory here as in the API server.
func TestHeldPolicies(t *testing.T) {
	rules := make([]networkingv1.NetworkPolicyIngressRule, 700_000)
	got := Held(&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Ingress: rules}}).(*networkingv1.NetworkPolicy)
	if got.Spec.Ingress != nil {
		t.Errorf("%d rules are held", len(got.Spec.Ingress))
	}
}

// TestHeldEndpoints checks that most of an endpoint is dropped, because it is never sent.
func TestHeldEndpoints(t *testing.T) {
	kept := discoveryv1.Endpoint{Addresses: []string{"10.1.0.1"}, NodeName: ptr.To("eu"), Hostname: ptr.To("db-0")}
	in := kept
	in.Zone, in.TargetRef, in.DeprecatedTopology, in.Hints = ptr.To("a"), &corev1.ObjectReference{Name: "db-0"}, map[string]string{"a": "b"}, &discoveryv1.EndpointHints{}
	got := Held(&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{in}}).(*discoveryv1.EndpointSlice)
	if diff := cmp.Diff([]discoveryv1.Endpoint{kept}, got.Endpoints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHeldRoutes checks that fields which a team can make too large are dropped. A route's parents and their
// status stay.
func TestHeldRoutes(t *testing.T) {
	for size, cut := range map[int]bool{10: false, 5000: true} {
		route := &gatewayv1.HTTPRoute{}
		route.Spec.ParentRefs, route.Spec.Rules = []gatewayv1.ParentReference{{Name: "public"}}, make([]gatewayv1.HTTPRouteRule, size)
		route.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: "example.com/home"}}
		for range 2 {
			got := Held(route).(*gatewayv1.HTTPRoute)
			if (len(got.Spec.Rules) == 0) != cut || len(got.Spec.ParentRefs) != 1 || len(got.Status.Parents) != 1 {
				t.Errorf("%d rules: held %d, %v, %v", size, len(got.Spec.Rules), got.Spec.ParentRefs, got.Status)
			}
		}
	}
}
