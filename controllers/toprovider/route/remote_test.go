package route

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// gateways maps the Gateways of the tests. It maps two local Gateways to the same one of the provider.
func gateways(local types.NamespacedName) (types.NamespacedName, bool) {
	remote, mapped := map[string]string{"team/public": "public", "infra/public": "public", "infra/private": "private"}[local.String()]
	return types.NamespacedName{Namespace: "gateways", Name: remote}, mapped
}

// routeOf returns the route team/web from YAML.
func routeOf[T any, R interface {
	*T
	metav1.Object
}](t testing.TB, manifest string) R {
	t.Helper()
	route := R(fieldtest.Parse[T](t, manifest))
	route.SetNamespace("team")
	route.SetName("web")
	route.SetUID("uid")
	return route
}

// inHTTPRoute returns a subject that is somewhere in an HTTPRoute.
func inHTTPRoute[T any](fields field.Decisions, where func(*gatewayv1.HTTPRouteSpec) *T) fieldtest.Subject {
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *gatewayv1.HTTPRoute {
		t.Helper()
		return routeOf[gatewayv1.HTTPRoute](t, routeWithAll)
	}, func(r *gatewayv1.HTTPRoute) *T { return where(&r.Spec) }, func(local *gatewayv1.HTTPRoute) (*gatewayv1.HTTPRoute, *field.Problem) {
		return HTTPToRemote(local, fieldtest.Mapped, all)
	}, fieldtest.InPlace(Merge[*gatewayv1.HTTPRoute]))}
}

// inGRPCRoute returns a subject that is somewhere in a GRPCRoute.
func inGRPCRoute[T any](fields field.Decisions, where func(*gatewayv1.GRPCRouteSpec) *T) fieldtest.Subject {
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *gatewayv1.GRPCRoute {
		t.Helper()
		return routeOf[gatewayv1.GRPCRoute](t, routeWithAll)
	}, func(r *gatewayv1.GRPCRoute) *T { return where(&r.Spec) }, func(local *gatewayv1.GRPCRoute) (*gatewayv1.GRPCRoute, *field.Problem) {
		return GRPCToRemote(local, fieldtest.Mapped, all)
	}, fieldtest.InPlace(Merge[*gatewayv1.GRPCRoute]))}
}

const routeWithAll = `
spec:
  parentRefs: [{name: public}]
  rules:
  - filters: [{type: RequestMirror, requestMirror: {backendRef: {name: shadow}}}]
    backendRefs: [{name: web, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: shadow}}}]}]`

// all maps each Gateway to one with the same name.
func all(local types.NamespacedName) (types.NamespacedName, bool) { return local, true }

// TestRoutePartsSentWhole: types that are sent whole have only known fields.
func TestRoutePartsSentWhole(t *testing.T) {
	got := map[string]string{}
	var collect func(reflect.Type)
	collect = func(kind reflect.Type) {
		if kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			collect(kind.Elem())
		}
		if kind.Kind() != reflect.Struct || got[kind.Name()] != "" {
			return
		}
		var names []string
		for part := range kind.Fields() {
			names = append(names, part.Name)
			collect(part.Type)
		}
		got[kind.Name()] = strings.Join(names, " ")
	}
	for _, s := range routeSubjects {
		for part := range s.Kind.Fields() {
			if s.Kind.PkgPath() == reflect.TypeFor[gatewayv1.HTTPRoute]().PkgPath() && s.Fields[part.Name].Verdict == field.Sent {
				collect(part.Type)
			}
		}
	}
	if diff := cmp.Diff(map[string]string{
		"Fraction":                  "Numerator Denominator",
		"GRPCHeaderMatch":           "Type Name Value",
		"GRPCMethodMatch":           "Type Service Method",
		"GRPCRouteMatch":            "Method Headers",
		"HTTPCORSFilter":            "AllowOrigins AllowCredentials AllowMethods AllowHeaders ExposeHeaders MaxAge",
		"HTTPHeader":                "Name Value",
		"HTTPHeaderFilter":          "Set Add Remove",
		"HTTPHeaderMatch":           "Type Name Value",
		"HTTPPathMatch":             "Type Value",
		"HTTPPathModifier":          "Type ReplaceFullPath ReplacePrefixMatch",
		"HTTPQueryParamMatch":       "Type Name Value",
		"HTTPRequestRedirectFilter": "Scheme Hostname Path Port StatusCode",
		"HTTPRouteMatch":            "Path Headers QueryParams Method",
		"HTTPRouteTimeouts":         "Request BackendRequest",
		"HTTPURLRewriteFilter":      "Hostname Path",
	}, got); diff != "" {
		t.Errorf("decide whether these are sent (-known +there):\n%s", diff)
	}
}

const (
	toPublic  = `{group: gateway.networking.k8s.io, kind: Gateway, namespace: gateways, name: public}`
	toPrivate = `{group: gateway.networking.k8s.io, kind: Gateway, namespace: gateways, name: private, sectionName: https, port: 443}`
	atGateway = `parentRefs: [{name: public}], rules: `
	atPublic  = `parentRefs: [` + toPublic + `], rules: `
)

// TestRoutes compares the remote routes of both kinds with the expected ones.
func TestRoutes(t *testing.T) {
	for name, test := range map[string]struct {
		spec, want, leftOut string
		stays               bool // Whether no parent is mapped to a Gateway of the provider.
	}{
		"at a Gateway of its namespace": {spec: `{parentRefs: [{name: public}], hostnames: [web.example.com]}`, want: `{parentRefs: [` + toPublic + `], hostnames: [web.example.com]}`},
		"at a part of another":          {spec: `{parentRefs: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra, name: private, sectionName: https, port: 443}]}`, want: `{parentRefs: [` + toPrivate + `]}`},
		"at one of the consumer's, too": {spec: `{parentRefs: [{name: home}, {name: public}]}`, want: `{parentRefs: [` + toPublic + `]}`},
		"at one of the consumer's only": {spec: `{parentRefs: [{name: home}]}`, want: `{}`, stays: true},
		"in the mesh":                   {spec: `{parentRefs: [{group: "", kind: Service, name: public}]}`, want: `{}`, stays: true},
		"at a set of listeners":         {spec: `{parentRefs: [{kind: ListenerSet, name: public}]}`, want: `{}`, stays: true},
		"at a Gateway of another API":   {spec: `{parentRefs: [{group: example.com, name: public}]}`, want: `{}`, stays: true},
		"at no Gateway":                 {spec: `{useDefaultGateways: All}`, want: `{}`, stays: true},
		"at two that stand for one":     {spec: `{parentRefs: [{name: public}, {namespace: infra, name: public}]}`, want: `{parentRefs: [` + toPublic + `]}`},
		"at two parts of one": {spec: `{parentRefs: [{name: public, sectionName: a}, {namespace: infra, name: public, sectionName: b}]}`,
			want: `{parentRefs: [` + toPublic[:len(toPublic)-1] + `, sectionName: a}, ` + toPublic[:len(toPublic)-1] + `, sectionName: b}]}`},
		"at a part, and the whole, that stand for one": {spec: `{parentRefs: [{name: public, port: 80}, {namespace: infra, name: public}, {name: public, sectionName: a}]}`, want: `{parentRefs: [` + toPublic + `]}`},
		"to Services": {
			spec: `{` + atGateway + `[{backendRefs: [{name: a, port: 80, weight: 1}, {group: "", kind: Service, namespace: team, name: b, port: 81}]}]}`,
			want: `{` + atPublic + `[{backendRefs: [{name: a, port: 80, weight: 1}, {group: "", kind: Service, name: b, port: 81}]}]}`},
		"with filters": {
			spec: `{` + atGateway + `[{name: r, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}, {type: RequestMirror, requestMirror: {backendRef: {namespace: team, name: shadow}}}]}]}`,
			want: `{` + atPublic + `[{name: r, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}, {type: RequestMirror, requestMirror: {backendRef: {name: shadow}}}]}]}`},
		"with filters of a backend": {
			spec: `{` + atGateway + `[{}, {backendRefs: [{name: a, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [a]}}, {type: RequestMirror, requestMirror: {backendRef: {namespace: team, name: shadow}}}]}]}]}`,
			want: `{` + atPublic + `[{}, {backendRefs: [{name: a, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [a]}}, {type: RequestMirror, requestMirror: {backendRef: {name: shadow}}}]}]}]}`},
		"with sessions that persist": {
			spec: `{` + atGateway + `[{}, {sessionPersistence: {sessionName: a}, backendRefs: [{name: a}]}]}`, want: `{` + atPublic + `[{}, {backendRefs: [{name: a}]}]}`,
			leftOut: "left out in the provider: spec.rules[1].sessionPersistence (versions and channels of the Gateway API differ in its fields)"},
	} {
		local, want := `{spec: `+test.spec+`}`, `{spec: `+test.want+`}`
		t.Run(name+"/HTTPRoute", func(t *testing.T) {
			checkRoute(t, routeOf[gatewayv1.HTTPRoute](t, local), routeOf[gatewayv1.HTTPRoute](t, want), HTTPToRemote, test.leftOut, test.stays)
		})
		t.Run(name+"/GRPCRoute", func(t *testing.T) {
			checkRoute(t, routeOf[gatewayv1.GRPCRoute](t, local), routeOf[gatewayv1.GRPCRoute](t, want), GRPCToRemote, test.leftOut, test.stays)
		})
	}
}

func checkRoute[T Route](t *testing.T, local, want T, send func(T, field.Target, field.Gateways) (T, *field.Problem), leftOut string, stays bool) {
	t.Helper()
	before := local.DeepCopyObject()
	got, refusal := send(local, fieldtest.Mapped, gateways)
	if refusal != nil {
		t.Fatal(refusal)
	}
	want.SetNamespace("team-eu")
	want.SetUID("")
	want.SetLabels(fieldtest.Mark.Labels())
	want.SetAnnotations(fieldtest.ProvenanceOf(";"))
	if leftOut != "" {
		want.GetAnnotations()[v1alpha1.AnnotationLeftOut] = leftOut
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, any(local)); diff != "" {
		t.Errorf("the local route was changed:\n%s", diff)
	}
	if routeGoes(local, gateways) == stays {
		t.Errorf("it stays: %t", !stays)
	}
}

// TestRetriesAreLeftOut: not every provider knows retries. If one dropped them, the manager would send
// them again and again.
func TestRetriesAreLeftOut(t *testing.T) {
	checkRoute(t, routeOf[gatewayv1.HTTPRoute](t, `{spec: {`+atGateway+`[{retry: {codes: [503]}, backendRefs: [{name: a}]}]}}`),
		routeOf[gatewayv1.HTTPRoute](t, `{spec: {`+atPublic+`[{backendRefs: [{name: a}]}]}}`), HTTPToRemote,
		"left out in the provider: spec.rules[0].retry (versions and channels of the Gateway API differ in its fields)", false)
}

// TestRouteRefusals: refusals of both kinds name the field.
func TestRouteRefusals(t *testing.T) {
	const only = "a route is sent only if all its backends are Services of its own namespace"
	for name, test := range map[string]struct{ manifest, reason, message string }{
		"kept at home": {`{metadata: {labels: {spillway.io/sync: never}}}`, field.ReasonSyncNever, "spillway.io/sync=never"},
		"cut":          {`{spec: {hostnames: [spillway.io/TooLarge]}}`, field.ReasonRouteTooLarge, "web: spec takes more than 128 KiB of memory: split it up"},
		"to a Service of another namespace": {`{spec: {rules: [{}, {backendRefs: [{name: a}, {namespace: shop, name: b}]}]}}`, ReasonBackendElsewhere,
			`spec.rules[1].backendRefs[1].namespace is "shop": ` + only},
		"to something else":      {`{spec: {rules: [{backendRefs: [{kind: Pod, name: a}]}]}}`, ReasonBackendElsewhere, `spec.rules[0].backendRefs[0].kind is "Pod": ` + only},
		"to an object of an API": {`{spec: {rules: [{backendRefs: [{group: example.com, kind: Service, name: a}]}]}}`, ReasonBackendElsewhere, `spec.rules[0].backendRefs[0].group is "example.com": ` + only},
		"a mirror elsewhere": {`{spec: {rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {namespace: shop, name: b}}}]}]}}`, ReasonBackendElsewhere,
			`spec.rules[0].filters[0].requestMirror.backendRef.namespace is "shop": ` + only},
		"an extension": {`{spec: {rules: [{filters: [{type: ResponseHeaderModifier}, {type: ExtensionRef, extensionRef: {group: example.com, kind: Auth, name: a}}]}]}}`, ReasonFilterNotSent,
			"spec.rules[0].filters[1].extensionRef is set: it names an object of the consumer's controller, and without the filter the provider might allow more requests"},
		"an extension of a backend": {`{spec: {rules: [{backendRefs: [{name: a, filters: [{type: ExtensionRef}]}]}]}}`, ReasonFilterNotSent,
			`spec.rules[0].backendRefs[0].filters[0].type is "ExtensionRef": filters of this type are not sent, and without it the provider might allow more requests`},
		"a filter of a newer API": {`{spec: {rules: [{filters: [{type: Firewall}]}]}}`, ReasonFilterNotSent, `spec.rules[0].filters[0].type is "Firewall": `},
		"two reasons":             {`{spec: {rules: [{filters: [{type: Firewall}], backendRefs: [{kind: Pod, name: a}]}]}}`, ReasonFilterNotSent, "spec.rules[0].filters[0].type"},
	} {
		local := func() *gatewayv1.HTTPRoute { return routeOf[gatewayv1.HTTPRoute](t, test.manifest) }
		if got, refusal := HTTPToRemote(local(), fieldtest.Mapped, gateways); got != nil || refusal == nil || refusal.Reason != test.reason || !strings.Contains(refusal.Message, test.message) {
			t.Errorf("HTTPRoute %s: got %v, %v", name, got, refusal)
		}
		if got, refusal := GRPCToRemote(routeOf[gatewayv1.GRPCRoute](t, test.manifest), fieldtest.Mapped, gateways); got != nil || refusal == nil || refusal.Reason != test.reason || !strings.Contains(refusal.Message, test.message) {
			t.Errorf("GRPCRoute %s: got %v, %v", name, got, refusal)
		}
	}
}

// TestNotAcceptedHere: a parent that a Gateway of the consumer refuses does not count, whatever
// providers report.
func TestNotAcceptedHere(t *testing.T) {
	const refuses = `conditions: [{type: Accepted, status: "False", reason: NotAllowedByListeners}]`
	const home, provider = `controllerName: example.com/home, `, `controllerName: spillway.io/eu, `
	for name, test := range map[string]struct {
		parents string
		want    []gatewayv1.ObjectName
	}{
		"nobody speaks":      {``, []gatewayv1.ObjectName{"public", "private"}},
		"one is refused":     {`{parentRef: {namespace: team, name: public}, ` + home + refuses + `}`, []gatewayv1.ObjectName{"private"}},
		"a part is refused":  {`{parentRef: {name: public, sectionName: a}, ` + home + refuses + `}`, []gatewayv1.ObjectName{"public", "private"}},
		"there":              {`{parentRef: {name: public}, ` + provider + refuses + `}`, []gatewayv1.ObjectName{"public", "private"}},
		"accepted":           {`{parentRef: {name: public}, ` + home + `conditions: [{type: Accepted, status: "True", reason: Accepted}]}`, []gatewayv1.ObjectName{"public", "private"}},
		"another condition":  {`{parentRef: {name: public}, ` + home + `conditions: [{type: ResolvedRefs, status: "False", reason: BackendNotFound}]}`, []gatewayv1.ObjectName{"public", "private"}},
		"of another kind":    {`{parentRef: {kind: Service, group: "", name: public}, ` + home + refuses + `}`, []gatewayv1.ObjectName{"public", "private"}},
		"all are refused":    {`{parentRef: {name: public}, ` + home + refuses + `}, {parentRef: {namespace: infra, name: private}, ` + home + refuses + `}`, nil},
		"by one of two here": {`{parentRef: {name: public}, controllerName: example.com/other}, {parentRef: {name: public}, ` + home + refuses + `}`, []gatewayv1.ObjectName{"private"}},
	} {
		remote, refusal := HTTPToRemote(routeOf[gatewayv1.HTTPRoute](t, `{spec: {parentRefs: [{name: public}, {namespace: infra, name: private}]}, status: {parents: [`+test.parents+`]}}`), fieldtest.Mapped, gateways)
		if test.want == nil {
			if refusal == nil || refusal.Reason != ReasonNotAcceptedHere || !strings.Contains(refusal.Message, "Gateway infra/private of this cluster does not accept the route (NotAllowedByListeners)") {
				t.Errorf("%s: got %v, %v", name, remote, refusal)
			}
			continue
		}
		if refusal != nil {
			t.Errorf("%s: %v", name, refusal)
			continue
		}
		var got []gatewayv1.ObjectName
		for _, parent := range remote.Spec.ParentRefs {
			got = append(got, parent.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRouteRefusal: the provider's limits list Gateways, hosts and annotations.
func TestRouteRefusal(t *testing.T) {
	const annotated = `metadata: {annotations: {example.com/auth: x}}, `
	for name, test := range map[string]struct {
		manifest string
		limits   *field.Limits
		hosts    field.HostPatterns
		want     string
	}{
		"allowed":                  {`{spec: {hostnames: [a.example.com, "*.b.example.com"]}}`, &field.Limits{Gateways: []string{"gateways/public"}, IngressHosts: []string{"us=*", "eu=*.example.com"}}, nil, ""},
		"everything is":            {`{` + annotated + `spec: {}}`, &field.Limits{Gateways: []string{field.All}, IngressHosts: []string{field.All}, MetadataKeys: []string{field.All}}, nil, ""},
		"no limits":                {`{spec: {}}`, nil, nil, "ClassNotAllowed: spec.parentRefs: the provider does not allow the Gateway gateways/public (gateways in"},
		"another Gateway":          {`{spec: {}}`, &field.Limits{Gateways: []string{"gateways/private", "public"}}, nil, "ClassNotAllowed: "},
		"another host":             {`{spec: {hostnames: [a.example.com, example.org]}}`, &field.Limits{Gateways: []string{field.All}, IngressHosts: []string{"*.example.com"}}, nil, "HostNotAllowed: spec.hostnames[1] is example.org: the provider does not list it (ingressHosts in"},
		"every host":               {`{spec: {}}`, &field.Limits{Gateways: []string{field.All}, IngressHosts: []string{"*.example.com"}}, nil, "HostNotAllowed: spec.hostnames matches every host"},
		"a host of another one":    {`{spec: {hostnames: [a.example.com]}}`, &field.Limits{Gateways: []string{field.All}, IngressHosts: []string{"us=*"}}, nil, "HostNotAllowed: "},
		"not one of the binding's": {`{spec: {hostnames: [a.example.com]}}`, &field.Limits{Gateways: []string{field.All}, IngressHosts: []string{field.All}}, field.HostPatterns{"b.example.com"}, "HostNotAllowed: spec.hostnames[0] is a.example.com: the ClusterBinding does not list it"},
		"an annotation":            {`{` + annotated + `spec: {}}`, &field.Limits{Gateways: []string{field.All}, IngressHosts: []string{field.All}}, nil, "AnnotationWithheld: metadata.annotations[example.com/auth]: the provider does not allow it"},
		"harmless annotations":     {`{metadata: {annotations: {cert-manager.io/issuer: x, plain: y}}, spec: {}}`, &field.Limits{Gateways: []string{field.All}, IngressHosts: []string{field.All}}, nil, ""},
	} {
		local := routeOf[gatewayv1.HTTPRoute](t, test.manifest)
		local.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: "public"}}
		remote, refusal := HTTPToRemote(local, fieldtest.Mapped, gateways)
		if refusal == nil {
			refusal = routeRefusal(local, remote, field.Target{Mark: provenance.Mark{Account: "eu"}}, test.limits, test.hosts)
		}
		got := ""
		if refusal != nil {
			got = refusal.Reason + ": " + refusal.Message
		}
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestGatewaysOfClasses: a mapping names a Gateway by its namespace and name.
func TestGatewaysOfClasses(t *testing.T) {
	classes := field.Classes{{Kind: v1alpha1.ClassIngress, Name: "team/a", RemoteName: "b/c"}, {Kind: v1alpha1.ClassGateway, Name: "team/public", RemoteName: "infra/eu.public"}}
	for name, want := range map[string]string{"public": "infra/eu.public", "a": "", "other": ""} {
		remote, mapped := classes.Gateways(types.NamespacedName{Namespace: "team", Name: name})
		if mapped != (want != "") || mapped && remote.String() != want {
			t.Errorf("%s: %s, mapped %t", name, remote, mapped)
		}
	}
}

// TestMergeRoute corrects a copy that somebody has changed.
func TestMergeRoute(t *testing.T) {
	const manifest = `{metadata: {labels: {app: web}}, spec: {parentRefs: [{name: public}], hostnames: [a.example.com], rules: [{backendRefs: [{name: a}]}]}}`
	desired, refusal := HTTPToRemote(routeOf[gatewayv1.HTTPRoute](t, manifest), fieldtest.Mapped, gateways)
	if refusal != nil {
		t.Fatal(refusal)
	}
	for name, test := range map[string]struct {
		change func(*gatewayv1.HTTPRoute)
		same   bool
	}{
		"nothing":                   {func(*gatewayv1.HTTPRoute) {}, true},
		"a status":                  {func(r *gatewayv1.HTTPRoute) { r.Status.Parents = []gatewayv1.RouteParentStatus{{}} }, true},
		"a label of the provider's": {func(r *gatewayv1.HTTPRoute) { r.Labels["theirs"] = "x" }, true},
		"a label of ours":           {func(r *gatewayv1.HTTPRoute) { r.Labels["app"] = "x" }, false},
		"it lacked something":       {func(r *gatewayv1.HTTPRoute) { r.Annotations["spillway.io/left-out"] = "some" }, false},
		"another parent":            {func(r *gatewayv1.HTTPRoute) { r.Spec.ParentRefs[0].Name = "x" }, false},
		"another host":              {func(r *gatewayv1.HTTPRoute) { r.Spec.Hostnames = nil }, false},
		"another backend":           {func(r *gatewayv1.HTTPRoute) { r.Spec.Rules[0].BackendRefs[0].Name = "x" }, false},
	} {
		remote := desired.DeepCopy()
		test.change(remote)
		before := remote.DeepCopy()
		merged := Merge(desired, remote)
		if same := cmp.Equal(merged, remote); same != test.same || !cmp.Equal(Merge(desired, merged), merged) {
			t.Errorf("%s: the same: %t", name, same)
		}
		if diff := cmp.Diff(before, remote); diff != "" {
			t.Errorf("%s: what is there was changed:\n%s", name, diff)
		}
		if diff := cmp.Diff(desired.Spec, merged.Spec); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	grpc, _ := GRPCToRemote(routeOf[gatewayv1.GRPCRoute](t, manifest), fieldtest.Mapped, gateways)
	remote := grpc.DeepCopy()
	remote.Spec.Rules = nil
	if diff := cmp.Diff(grpc, Merge(grpc, remote)); diff != "" {
		t.Errorf("GRPCRoute: %s", diff)
	}
}

// TestCutRoute: a route that is too large is cut in the cache, and refused.
func TestCutRoute(t *testing.T) {
	const parents = `parentRefs: [{name: public}]`
	long := strings.Repeat("x", mostRoute)
	for name, test := range map[string]struct {
		rules string
		cut   bool
	}{
		"small":                       {`[{name: a, backendRefs: [{name: a}]}]`, false},
		"a long text":                 {`[{name: ` + long + `}]`, true},
		"many that are empty":         {`[` + strings.Repeat(`{}, `, mostRoute/50) + `{}]`, true},
		"a text behind many pointers": {`[{filters: [{type: RequestMirror, requestMirror: {backendRef: {group: ` + long + `, name: a}}}]}]`, true},
	} {
		manifest := `{spec: {hostnames: [a.example.com], ` + parents + `, rules: ` + test.rules + `}}`
		http, grpc := routeOf[gatewayv1.HTTPRoute](t, manifest), routeOf[gatewayv1.GRPCRoute](t, manifest)
		whole := http.DeepCopy()
		for range 2 { // The second time it changes nothing.
			trim(http, false)
			trim(grpc, false)
			if isCutRoute(http) != test.cut || isCutRoute(grpc) != test.cut {
				t.Errorf("%s: cut: %t, %t", name, isCutRoute(http), isCutRoute(grpc))
			}
		}
		if test.cut {
			whole = routeOf[gatewayv1.HTTPRoute](t, `{spec: {hostnames: [spillway.io/TooLarge], `+parents+`}}`)
		}
		if diff := cmp.Diff(whole, http); diff != "" || !routeGoes(grpc, gateways) {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// TestSentFilters: sentFilters are types of the API, and exactly those without a refusal.
func TestSentFilters(t *testing.T) {
	var got []string
	for part, d := range httpRouteFilterFields {
		if part != "Type" && d.Verdict != field.Refused {
			got = append(got, part)
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(sentFilters)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("(-types +fields):\n%s", diff)
	}
	for part := range grpcRouteFilterFields {
		if httpRouteFilterFields[part].Verdict != grpcRouteFilterFields[part].Verdict {
			t.Errorf("%s differs between the kinds", part)
		}
	}
}
