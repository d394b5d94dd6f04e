package ingress

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// routesPolicy is the policy in a provider that checks the Ingresses of consumers, compiled as an API
// server does.
type routesPolicy struct {
	validations []admissionv1.Validation
	compiled    cel.ConditionEvaluator
}

func compiledRoutesPolicy(t *testing.T) routesPolicy {
	t.Helper()
	file, err := os.ReadFile("../../../config/provider/policy_routes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(file), "\n---\n")
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	if err := yaml.UnmarshalStrict([]byte(first), policy); err != nil {
		t.Fatal(err)
	}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	with := cel.OptionalVariableDeclarations{HasParams: true}
	for _, v := range policy.Spec.Variables {
		if result := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, with, environment.StoredExpressions); result.Error != nil {
			t.Fatalf("variable %s: %v", v.Name, result.Error)
		}
	}
	var conditions []cel.ExpressionAccessor
	for _, v := range policy.Spec.Validations {
		conditions = append(conditions, &validating.ValidationCondition{Expression: v.Expression})
	}
	compiled := compiler.CompileCondition(conditions, with, environment.StoredExpressions)
	if errs := compiled.CompilationErrors(); len(errs) > 0 {
		t.Fatal(errs)
	}
	return routesPolicy{policy.Spec.Validations, compiled}
}

// refusal returns the message, or else the expression, of the first validation that fails when account
// eu writes an Ingress with these limits. It returns "" if none fails. before is nil for a creation.
func (p routesPolicy) refusal(t *testing.T, before, after *networkingv1.Ingress, limits map[string]string) string {
	t.Helper()
	attributes := &admission.VersionedAttributes{VersionedKind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), VersionedObject: after}
	operation := admission.Create
	if before != nil {
		operation, attributes.VersionedOldObject = admission.Update, before
	}
	resource := networkingv1.SchemeGroupVersion.WithResource("ingresses")
	attributes.Attributes = admission.NewAttributesRecord(after, attributes.VersionedOldObject, attributes.VersionedKind, after.Namespace, after.Name, resource, "",
		operation, nil, false, &user.DefaultInfo{Name: "system:serviceaccount:spillway-provider:eu"})
	request := cel.CreateAdmissionRequest(attributes.Attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(attributes.VersionedKind))
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: after.Namespace, Labels: after.Labels}}
	results, _, err := p.compiled.ForInput(t.Context(), attributes, request, cel.OptionalVariableBindings{VersionedParams: &corev1.ConfigMap{Data: limits}}, namespace,
		celconfig.RuntimeCELCostBudget)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		switch {
		case result.Error != nil:
			return result.Error.Error()
		case result.EvalResult.Value() != true:
			return cmp.Or(p.validations[i].Message, p.validations[i].MessageExpression)
		}
	}
	return ""
}

// remoteIngress returns a remote Ingress of account eu with that spec and class public.
func remoteIngress(t testing.TB, spec string) *networkingv1.Ingress {
	remote := fieldtest.IngressOf(t, spec)
	remote.Labels = fieldtest.Mark.Labels()
	remote.Labels["spillway.io/account"] = "eu"
	return remote
}

func TestRoutesPolicy(t *testing.T) {
	policy := compiledRoutesPolicy(t)
	const rule = `rules: [{host: a.example.com, http: {paths: [{backend: {service: {name: web}}}]}}]`
	const class, host, backend, annotation = "spec.ingressClassName must be", "spec.rules[].host and", "spec.defaultBackend.resource and", "metadata.annotations[kubernetes.io/ingress.class] must be absent"
	limits := map[string]string{"ingressClasses": "other, public", "ingressHosts": "a.example.com"}
	annotated := func(key string) *networkingv1.Ingress {
		remote := remoteIngress(t, `{`+rule+`}`)
		remote.Annotations = map[string]string{key: "public"}
		return remote
	}
	const snippet = "nginx.ingress.kubernetes.io/server-snippet"
	others := remoteIngress(t, `{`+rule+`}`)
	others.Labels["spillway.io/account"] = "us"
	for name, test := range map[string]struct {
		before, after *networkingv1.Ingress
		limits        map[string]string
		want          string
	}{
		"let in":                  {nil, remoteIngress(t, `{`+rule+`}`), limits, ""},
		"of another account":      {nil, others, limits, "'namespace '"},
		"nothing is listed":       {nil, remoteIngress(t, `{`+rule+`}`), nil, class},
		"no host is":              {nil, remoteIngress(t, `{`+rule+`}`), map[string]string{"ingressClasses": "*"}, host},
		"another class":           {nil, remoteIngress(t, `{ingressClassName: internal, `+rule+`}`), limits, class},
		"no class":                {nil, remoteIngress(t, `{ingressClassName: null, `+rule+`}`), map[string]string{"ingressClasses": "*", "ingressHosts": "*"}, class},
		"a class with no limits":  {nil, remoteIngress(t, `{ingressClassName: "", `+rule+`}`), map[string]string{"ingressHosts": "*"}, class},
		"every class":             {nil, remoteIngress(t, `{ingressClassName: internal, `+rule+`}`), map[string]string{"ingressClasses": "*", "ingressHosts": "*"}, ""},
		"the rest":                {nil, remoteIngress(t, `{defaultBackend: {service: {name: web}}, `+rule+`}`), limits, host},
		"the rest, of all":        {nil, remoteIngress(t, `{defaultBackend: {service: {name: web}}}`), map[string]string{"ingressClasses": "public", "ingressHosts": "eu=*"}, ""},
		"any certificate":         {nil, remoteIngress(t, `{tls: [{secretName: cert}], `+rule+`}`), limits, host},
		"a resource":              {nil, remoteIngress(t, `{rules: [{host: a.example.com}, {host: a.example.com, http: {paths: [{backend: {resource: {kind: Bucket, name: b}}}]}}]}`), limits, backend},
		"a resource for the rest": {nil, remoteIngress(t, `{defaultBackend: {resource: {kind: Bucket, name: b}}}`), map[string]string{"ingressClasses": "*", "ingressHosts": "*"}, backend},
		"the older annotation":    {nil, annotated("kubernetes.io/ingress.class"), map[string]string{"ingressClasses": "*", "ingressHosts": "*", "metadataKeys": "*"}, annotation},
		"it is added":             {remoteIngress(t, `{`+rule+`}`), annotated("kubernetes.io/ingress.class"), map[string]string{"ingressClasses": "*", "ingressHosts": "*", "metadataKeys": "*"}, annotation},
		"it was there":            {annotated("kubernetes.io/ingress.class"), annotated("kubernetes.io/ingress.class"), limits, ""},
		"a command":               {nil, annotated(snippet), limits, "metadata.labels and metadata.annotations"},
		"one that is listed":      {nil, annotated(snippet), map[string]string{"ingressClasses": "*", "ingressHosts": "*", "metadataKeys": "nginx.ingress.kubernetes.io/"}, ""},
		"one that is reserved":    {nil, annotated(snippet), map[string]string{"ingressClasses": "*", "ingressHosts": "*", "metadataKeys": "*", "reservedKeys": snippet}, "metadata.labels and metadata.annotations"},
		"a host is taken away":    {remoteIngress(t, `{`+rule+`}`), remoteIngress(t, `{`+rule+`}`), map[string]string{"ingressClasses": "*"}, host},
	} {
		got := policy.refusal(t, test.before, test.after, test.limits)
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLargestIngress: the largest Ingress that is sent does not exceed the policy's cost budget, even
// with as many patterns as fit into the limit.
func TestLargestIngress(t *testing.T) {
	limits := map[string]string{"ingressClasses": "public", "ingressHosts": strings.Repeat("*.team-a.example.com,", 190) + "*.last.example"}
	remote := remoteIngress(t, "")
	for i := range mostIngressHosts {
		rule := networkingv1.IngressRule{Host: fmt.Sprintf("a%d.last.example", i)}
		rule.HTTP = &networkingv1.HTTPIngressRuleValue{Paths: make([]networkingv1.HTTPIngressPath, mostIngressPaths/mostIngressHosts)}
		remote.Spec.Rules = append(remote.Spec.Rules, rule)
	}
	if trim(remote, false); isCutIngress(remote) {
		t.Fatal("it is too large")
	}
	if got := compiledRoutesPolicy(t).refusal(t, nil, remote, limits); got != "" {
		t.Error(got)
	}
}
