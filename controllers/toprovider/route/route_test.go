package route

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/test/samples"
)

// of is an HTTPRoute at Gateways of its namespace.
func of(gateways ...gatewayv1.ObjectName) *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	for _, name := range gateways {
		route.Spec.ParentRefs = append(route.Spec.ParentRefs, gatewayv1.ParentReference{Name: name})
	}
	return route
}

// around maps team/public; another binding maps team/others.
func around(limits *field.Limits) decide.Inputs {
	return decide.Inputs{
		Limits:  limits,
		Classes: field.Classes{{Kind: v1alpha1.ClassGateway, Name: "team/public", RemoteName: "gateways/eu"}},
		Maps: func(kind v1alpha1.ClassKind, name string) bool {
			return kind == v1alpha1.ClassGateway && name == "team/others"
		},
	}
}

var http = translation[*gatewayv1.HTTPRoute]{send: HTTPToRemote}

// TestKinds: teams do not list them, and a cluster may lack them.
func TestKinds(t *testing.T) {
	if r := HTTP(); r.Resource != "" || r.Most != most || !r.Extension || r.Title() != "HTTPRoute" {
		t.Errorf("%s: %+v", r.Title(), r)
	}
	if r := GRPC(); r.Resource != "" || r.Most != most || !r.Extension || r.Title() != "GRPCRoute" {
		t.Errorf("%s: %+v", r.Title(), r)
	}
}

// TestChoose: ordinary routes are none of our business.
func TestChoose(t *testing.T) {
	for name, test := range map[string]struct {
		local *gatewayv1.HTTPRoute
		want  bool
	}{
		"mapped":            {of("public"), true},
		"mapped, and not":   {of("home", "public"), true},
		"by another one":    {of("others"), true}, // Its owner is told.
		"not mapped":        {of("home"), false},
		"no parent":         {of(), false},
		"of another object": {&gatewayv1.HTTPRoute{}, false},
	} {
		if goes, known := http.Choose(test.local, network.Reach{}, around(nil)); goes != test.want || !known {
			t.Errorf("%s: goes %t, known %t", name, goes, known)
		}
	}
}

// TestRemote: the limits count, and a copy is changed, not made again.
func TestRemote(t *testing.T) {
	allowed := around(&field.Limits{Gateways: []string{"gateways/eu"}, IngressHosts: []string{field.All}})
	local := of("public")
	local.Spec.Rules = []gatewayv1.HTTPRouteRule{{SessionPersistence: &gatewayv1.SessionPersistence{SessionName: ptr.To("a")}}}
	remote, refusal := http.Remote(local, field.Target{Namespace: "team-home"}, allowed)
	if refusal != nil || remote.Namespace != "team-home" || len(remote.Spec.ParentRefs) != 1 || remote.Spec.ParentRefs[0].Name != "eu" {
		t.Fatalf("got %v, %v", remote, refusal)
	}
	if notice := http.Notice(local, remote, allowed); notice == nil || notice.Reason != ReasonFieldsLeftOut || !strings.Contains(notice.Message, "spec.rules[0].sessionPersistence") {
		t.Errorf("its owner is told %v", notice)
	}
	plain, _ := http.Remote(of("public"), field.Target{Namespace: "team-home"}, allowed)
	if notice := http.Notice(local, plain, allowed); notice != nil {
		t.Errorf("told %v of nothing", notice)
	}
	if merged, replace := http.Merge(plain, remote); replace || len(merged.Spec.Rules) != 0 || field.LeftOut(merged) != "" {
		t.Errorf("got %v, replaced: %t", merged, replace)
	}
	local.Spec.Rules[0].Filters = []gatewayv1.HTTPRouteFilter{{Type: "Firewall"}}
	allowed.Hosts = field.HostPatterns{"a.example.com"}
	for want, refused := range map[string]*gatewayv1.HTTPRoute{
		v1alpha1.ReasonClassNotMapped: of("others"), ReasonFilterNotSent: local, field.ReasonHostNotAllowed: of("public"),
	} {
		if got, refusal := http.Remote(refused, field.Target{}, allowed); got != nil || refusal == nil || refusal.Reason != want {
			t.Errorf("got %v, %v, want %s", got, refusal, want)
		}
	}
	if _, refusal := http.Remote(of("public"), field.Target{}, around(nil)); refusal == nil || refusal.Reason != field.ReasonClassNotAllowed {
		t.Errorf("without limits: %v", refusal)
	}
}

// TestReport: what is said comes back, and goes.
func TestReport(t *testing.T) {
	allowed := around(&field.Limits{Gateways: []string{field.All}, IngressHosts: []string{field.All}})
	local := of("public")
	remote, refusal := http.Remote(local, field.Target{}, allowed)
	if refusal != nil {
		t.Fatal(refusal)
	}
	samples.HTTPRoute("", "", "").Report(remote)
	told, problem := http.Report(local, remote, "eu", allowed)
	if problem != nil || len(told.Status.Parents) != 1 || told.Status.Parents[0].ControllerName != "spillway.io/eu" || told.Status.Parents[0].ParentRef.Name != "public" {
		t.Fatalf("told %v, %v", told.Status, problem)
	}
	if gone, _ := http.Report(told, nil, "eu", allowed); len(gone.Status.Parents) > 0 {
		t.Errorf("left %v", gone.Status)
	}
}
