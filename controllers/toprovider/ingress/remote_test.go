package ingress

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// euClasses maps public, and another class that the provider does not allow.
var euClasses = field.Classes{
	{Kind: v1alpha1.ClassIngress, Name: "public", RemoteName: "eu-public"}, {Kind: v1alpha1.ClassIngress, Name: "other", RemoteName: "eu-other"},
	{Kind: v1alpha1.ClassLoadBalancer, Name: "internal", RemoteName: "eu-internal"},
}

// routing allows the class, every host, and some annotations.
var routing = &field.Limits{IngressClasses: []string{"eu-public"}, IngressHosts: []string{field.All}, MetadataKeys: []string{"nginx.ingress.kubernetes.io/"}}

// inIngress returns a subject that is somewhere in an Ingress.
func inIngress[T any](fields field.Decisions, where func(*networkingv1.IngressSpec) *T) fieldtest.Subject {
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *networkingv1.Ingress {
		t.Helper()
		return fieldtest.IngressOf(t, `{tls: [{}], rules: [{http: {paths: [{backend: {service: {name: web}}}]}}]}`)
	}, func(i *networkingv1.Ingress) *T { return where(&i.Spec) }, func(local *networkingv1.Ingress) (*networkingv1.Ingress, *field.Problem) {
		local.Spec.IngressClassName = ptr.To("public")
		return toRemote(local, fieldtest.Mapped, routing, euClasses, nil)
	}, fieldtest.InPlace(merge))}
}

func firstPath(s *networkingv1.IngressSpec) *networkingv1.HTTPIngressPath {
	return &s.Rules[0].HTTP.Paths[0]
}

// TestIngress compares the remote Ingress with the expected one.
func TestIngress(t *testing.T) {
	const spec = `{
		tls: [{hosts: [a.example.com, "*.b.example.com"], secretName: cert}],
		defaultBackend: {service: {name: rest, port: {name: http}}},
		rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}, {host: "*.b.example.com"}]}`
	local := fieldtest.IngressOf(t, spec)
	local.Annotations = map[string]string{
		"kubernetes.io/ingress.class": "public", "addresses.spillway.io/eu": "203.0.113.1", "nginx.ingress.kubernetes.io/rewrite-target": "/",
	}
	local.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.1"}}
	before := local.DeepCopy()
	got, refusal := toRemote(local, fieldtest.Mapped, routing, euClasses, nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := fieldtest.IngressOf(t, spec)
	want.ObjectMeta = metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: fieldtest.ProvenanceOf("app;nginx.ingress.kubernetes.io/rewrite-target")}
	want.Labels["app"], want.Annotations["nginx.ingress.kubernetes.io/rewrite-target"] = "web", "/"
	want.Spec.IngressClassName = ptr.To("eu-public")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	firstPath(&got.Spec).Path, got.Spec.TLS[0].Hosts[0] = "/other", "other"
	if diff := cmp.Diff(before, local); diff != "" {
		t.Errorf("the local Ingress was changed:\n%s", diff)
	}
}

func TestIngressRefusals(t *testing.T) {
	const rule = `rules: [{host: a.example.com, http: {paths: [{backend: {service: {name: web}}}]}}]`
	const resource = `{resource: {kind: Bucket, name: b}}`
	closed := func(key string) *networkingv1.Ingress {
		local := fieldtest.IngressOf(t, `{`+rule+`}`)
		local.Annotations = map[string]string{key: "x", "kubectl.kubernetes.io/last-applied-configuration": "x"}
		return local
	}
	long := closed("note")
	long.Annotations["note"] = strings.Repeat("x", field.MostMetadata)
	limits := &field.Limits{IngressClasses: []string{"eu-public"}, IngressHosts: []string{"*.example.com"}, MetadataKeys: []string{"haproxy.org/"}, ReservedKeys: []string{"grafana_alert"}}
	never := fieldtest.IngressOf(t, `{`+rule+`}`)
	never.Labels["spillway.io/sync"] = "never"
	for name, test := range map[string]struct {
		local           *networkingv1.Ingress
		reason, mention string
	}{
		"sent":                {fieldtest.IngressOf(t, `{`+rule+`}`), "", ""},
		"another class":       {fieldtest.IngressOf(t, `{ingressClassName: internal, `+rule+`}`), v1alpha1.ReasonClassNotMapped, `does not map IngressClass "internal"`},
		"no class":            {fieldtest.IngressOf(t, `{ingressClassName: null, `+rule+`}`), v1alpha1.ReasonClassNotMapped, "spec.ingressClassName"},
		"one not allowed":     {fieldtest.IngressOf(t, `{ingressClassName: other, `+rule+`}`), field.ReasonClassNotAllowed, "does not allow the class eu-other (ingressClasses in"},
		"closed by a key":     {closed("nginx.ingress.kubernetes.io/auth-url"), field.ReasonAnnotationWithheld, "metadata.annotations[nginx.ingress.kubernetes.io/auth-url]: the provider does not allow it"},
		"by one that is sent": {closed("haproxy.org/allow-list"), "", ""},
		"by none":             {closed("cert-manager.io/cluster-issuer"), "", ""},
		"by a note":           {closed("note"), "", ""},
		"by a reserved note":  {closed("grafana_alert"), field.ReasonAnnotationWithheld, "grafana_alert"},
		"by an older class":   {closed("kubernetes.io/ingress.class"), "", ""},
		"with long ones":      {long, field.ReasonMetadataTooLarge, "labels and annotations"},
		"kept at home":        {never, field.ReasonSyncNever, "spillway.io/sync=never"},
		"cut":                 {fieldtest.IngressOf(t, `{}`), field.ReasonRouteTooLarge, "200 rules and hosts of spec.tls, 1000 paths, or 64 KiB"},
		"the default":         {fieldtest.IngressOf(t, `{defaultBackend: `+resource+`}`), ReasonResourceBackend, "spec.defaultBackend.resource is set"},
		"one of the backends": {fieldtest.IngressOf(t, `{rules: [{host: b}, {http: {paths: [{backend: {service: {name: web}}}, {backend: `+resource+`}]}}]}`), ReasonResourceBackend, "spec.rules[1].http.paths[1].backend.resource is set"},
		"another host":        {fieldtest.IngressOf(t, `{rules: [{host: a.example.com}, {host: example.org}]}`), field.ReasonHostNotAllowed, "spec.rules[1].host is example.org: the provider"},
		"every host":          {fieldtest.IngressOf(t, `{rules: [{}]}`), field.ReasonHostNotAllowed, "spec.rules[0].host matches every host: the provider"},
		"the rest of all":     {fieldtest.IngressOf(t, `{defaultBackend: {service: {name: web}}}`), field.ReasonHostNotAllowed, "spec.defaultBackend matches every host"},
		"of a certificate":    {fieldtest.IngressOf(t, `{tls: [{hosts: [a.example.com, example.org]}], `+rule+`}`), field.ReasonHostNotAllowed, "spec.tls[0].hosts[1] is example.org"},
		"any certificate":     {fieldtest.IngressOf(t, `{tls: [{hosts: [a.example.com]}, {secretName: cert}], `+rule+`}`), field.ReasonHostNotAllowed, "spec.tls[1].hosts matches every host"},
	} {
		_, refusal := toRemote(test.local, fieldtest.Mapped, limits, euClasses, nil)
		if refusal == nil {
			refusal = &field.Problem{}
		}
		if refusal.Reason != test.reason || !strings.Contains(refusal.Message, test.mention) {
			t.Errorf("%s: got %v", name, refusal)
		}
	}
}

// TestIngressSecrets checks which Secrets have the certificates of an Ingress.
func TestIngressSecrets(t *testing.T) {
	for spec, want := range map[string][]string{
		`{}`:                       nil,
		`{tls: [{secretName: b}]}`: {"b"},
		`{tls: [{secretName: b}, {hosts: [a.example.com], secretName: a}, {hosts: [c.example.com], secretName: a}, {hosts: [d.example.com]}]}`: {"a", "b"},
	} {
		if got := ingressSecrets(fieldtest.IngressOf(t, spec)); !slices.Equal(got, want) {
			t.Errorf("%s: %v", spec, got)
		}
	}
}

// TestMergeIngress: the merge corrects the spec, and keeps metadata that the provider added.
func TestMergeIngress(t *testing.T) {
	const spec = `{rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}`
	desired, refusal := toRemote(fieldtest.IngressOf(t, spec), fieldtest.Mapped, routing, euClasses, nil)
	if refusal != nil {
		t.Fatal(refusal)
	}
	for name, test := range map[string]struct {
		change func(remote *networkingv1.Ingress)
		same   bool
	}{
		"as it should be":     {func(*networkingv1.Ingress) {}, true},
		"with what was added": {func(r *networkingv1.Ingress) { r.Annotations["added"], r.Finalizers = "x", []string{"lb"} }, true},
		"with an address": {func(r *networkingv1.Ingress) {
			r.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.1"}}
		}, true},
		"of another class":          {func(r *networkingv1.Ingress) { r.Spec.IngressClassName = ptr.To("other") }, false},
		"with another backend":      {func(r *networkingv1.Ingress) { firstPath(&r.Spec).Backend.Service.Name = "other" }, false},
		"with one more certificate": {func(r *networkingv1.Ingress) { r.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "s"}} }, false},
		"with another label":        {func(r *networkingv1.Ingress) { r.Labels["app"] = "other" }, false},
	} {
		remote := desired.DeepCopy()
		test.change(remote)
		got := merge(desired, remote)
		if same := cmp.Equal(got, remote); same != test.same {
			t.Errorf("%s: the same: %t", name, same)
		}
		if diff := cmp.Diff(desired.Spec, got.Spec); diff != "" || got.Labels["app"] != "web" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// TestCutIngress: an Ingress that is too large in any way keeps only its class, and is refused. An
// Ingress that is just small enough stays as it is.
func TestCutIngress(t *testing.T) {
	paths := func(n int, path string) networkingv1.IngressRule {
		all := make([]networkingv1.HTTPIngressPath, n)
		for i := range all {
			all[i].Path = path
		}
		return networkingv1.IngressRule{IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: all}}}
	}
	certificates := func(entries, hosts int) networkingv1.IngressSpec {
		spec := networkingv1.IngressSpec{TLS: make([]networkingv1.IngressTLS, entries), Rules: make([]networkingv1.IngressRule, 1)}
		for i := range spec.TLS {
			spec.TLS[i].Hosts = make([]string, hosts)
		}
		return spec
	}
	long := strings.Repeat("a", mostIngressText/4)
	for name, test := range map[string]struct {
		spec networkingv1.IngressSpec
		cut  bool
	}{
		"most rules":            {networkingv1.IngressSpec{Rules: make([]networkingv1.IngressRule, mostIngressHosts)}, false},
		"too many":              {networkingv1.IngressSpec{Rules: make([]networkingv1.IngressRule, mostIngressHosts+1)}, true},
		"most paths":            {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths(mostIngressPaths-1, ""), {}, paths(1, "")}}, false},
		"too many paths":        {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths(mostIngressPaths, ""), {}, paths(1, "")}}, true},
		"most certificates":     {certificates(mostIngressHosts-1, 0), false},
		"too many certificates": {certificates(mostIngressHosts, 0), true},
		"most hosts of one":     {certificates(1, mostIngressHosts-1), false},
		"too many hosts of one": {certificates(1, mostIngressHosts), true},
		"long paths":            {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths(5, long)}}, true},
		"long enough":           {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths(4, long)}}, false},
		"a long host":           {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths(4, long), {Host: "a"}}}, true},
		"a long host of tls":    {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths(4, long)}, TLS: []networkingv1.IngressTLS{{Hosts: []string{"a"}}}}, true},
		"a long name":           {networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{paths(4, long)}, TLS: []networkingv1.IngressTLS{{SecretName: "a"}}}, true},
		"the default alone":     {networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{}}, false},
	} {
		test.spec.IngressClassName = ptr.To("public")
		ingress := &networkingv1.Ingress{Spec: test.spec}
		want := *ingress.DeepCopy()
		if test.cut {
			want.Spec = networkingv1.IngressSpec{IngressClassName: ptr.To("public")}
		}
		for range 2 {
			trim(ingress, false)
			if diff := cmp.Diff(want, *ingress); diff != "" {
				t.Errorf("%s: (-want +got):\n%.300s", name, diff)
			}
		}
		if _, refusal := toRemote(ingress, field.Target{}, routing, euClasses, nil); (refusal != nil && refusal.Reason == field.ReasonRouteTooLarge) != test.cut {
			t.Errorf("%s: refused: %v", name, refusal)
		}
	}
}
