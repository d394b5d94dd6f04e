package admission

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/controllers/toprovider/route"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

const (
	// bothRoutes is valid in routes of both kinds.
	bothRoutes = `
parentRefs: [{name: public, sectionName: https}, {namespace: home, name: internal}]
hostnames: [web.example.com, "*.shop.example.com"]
rules:
- name: first
  filters:
  - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}], add: [{name: c, value: d}], remove: [e]}}
  - {type: RequestMirror, requestMirror: {backendRef: {name: shadow, port: 80}, fraction: {numerator: 1}}}
  backendRefs:
  - {name: web, port: 80, filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [server]}}]}
  - {name: canary, namespace: NAMESPACE, port: 81, weight: 9}
  matches: `
	ofHTTP = `[{path: {value: /a}, method: GET, headers: [{name: x, value: y}], queryParams: [{name: q, value: r}]}]
- filters:
  - {type: URLRewrite, urlRewrite: {hostname: a.example.com, path: {type: ReplaceFullPath, replaceFullPath: /b}}}
  - {type: CORS, cors: {allowOrigins: ["https://example.com"], allowMethods: [GET]}}
  timeouts: {request: 10s, backendRequest: 5s}
- filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]`
	ofGRPC = `[{method: {service: a.B}, headers: [{name: x, value: y}]}]`
)

// TestRoutes: an API server that serves routes accepts the remote routes unchanged. The consumer's accepts
// the reported status, whatever a provider reports.
func TestRoutes(t *testing.T) {
	needsNoManager(t)
	t.Run("HTTPRoute", func(t *testing.T) {
		local := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(t, nil), Name: "web"}}
		specOf(t, local.Namespace, bothRoutes+ofHTTP, &local.Spec)
		travels(t, local, route.HTTPToRemote, func(r *gatewayv1.HTTPRoute) *gatewayv1.RouteStatus { return &r.Status.RouteStatus })
	})
	t.Run("GRPCRoute", func(t *testing.T) {
		local := &gatewayv1.GRPCRoute{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(t, nil), Name: "web"}}
		specOf(t, local.Namespace, bothRoutes+ofGRPC, &local.Spec)
		travels(t, local, route.GRPCToRemote, func(r *gatewayv1.GRPCRoute) *gatewayv1.RouteStatus { return &r.Status.RouteStatus })
	})
}

func specOf(t *testing.T, namespace, spec string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "NAMESPACE", namespace)), into); err != nil {
		t.Fatal(err)
	}
}

func travels[T route.Route](t *testing.T, local T, send func(T, field.Target, field.Gateways) (T, *field.Problem), status func(T) *gatewayv1.RouteStatus) {
	t.Helper()
	made(t, client.Object(local))
	gateways := func(of types.NamespacedName) (types.NamespacedName, bool) {
		return types.NamespacedName{Namespace: "gateways", Name: "eu"}, of.Name == "public"
	}
	target := field.Target{Mark: provenance.Mark{Origin: "origin", ClusterID: "eu", Account: shippedAccount}, Namespace: namespaceOf(t, nil)}
	desired, refusal := send(local, target, gateways)
	if refusal != nil {
		t.Fatal(refusal)
	}
	remote := desired.DeepCopyObject().(T)
	made(t, client.Object(remote))
	if diff := cmp.Diff(remote, route.Merge(desired, remote)); diff != "" {
		t.Errorf("it would be changed once more, at each pass:\n%s", diff)
	}

	status(remote).Parents = []gatewayv1.RouteParentStatus{{
		ControllerName: "example.com/gateways", ParentRef: parentOf(remote),
		Conditions: []metav1.Condition{
			{Type: "Accepted", Status: "True", Reason: "<none>", Message: strings.Repeat("\x00ä", 9999), ObservedGeneration: remote.GetGeneration()},
			{Type: "ResolvedRefs", Status: "True", LastTransitionTime: metav1.NewTime(time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC))},
		},
	}}
	report := func(remote T, entries int) {
		t.Helper()
		before := local
		if local = route.ReportRoute(local, remote, "eu", gateways, time.Now()); local == before {
			t.Fatal("nothing comes back")
		}
		patch := client.MergeFromWithOptions(client.Object(before), client.MergeFromWithOptimisticLock{})
		if err := server(t).Status().Patch(t.Context(), local, patch); err != nil {
			t.Fatal(err)
		}
		if got := len(status(local).Parents); got != entries {
			t.Errorf("%d entries have come back, want %d", got, entries)
		}
		if again := route.ReportRoute(local, remote, "eu", gateways, time.Now()); again != local {
			t.Errorf("it would be written once more, at each pass:\n%s", cmp.Diff(local, again))
		}
	}
	report(remote, 1)
	if generation := status(local).Parents[0].Conditions[0].ObservedGeneration; generation != local.GetGeneration() {
		t.Errorf("the copy is as it should be, and generation %d was observed, not %d", generation, local.GetGeneration())
	}
	report(nil, 0)
}

// parentOf returns the only parent of a remote route.
func parentOf(route any) gatewayv1.ParentReference {
	switch route := route.(type) {
	case *gatewayv1.HTTPRoute:
		return route.Spec.ParentRefs[0]
	case *gatewayv1.GRPCRoute:
		return route.Spec.ParentRefs[0]
	}
	panic("no route")
}
