package ingress

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/address"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// of is an Ingress of a class, unless that is empty, for one host.
func of(class, host string) *networkingv1.Ingress {
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	ingress.Spec.Rules = []networkingv1.IngressRule{{Host: host}}
	if class != "" {
		ingress.Spec.IngressClassName = &class
	}
	return ingress
}

// around maps public; another binding maps others.
func around(limits *field.Limits) decide.Inputs {
	return decide.Inputs{
		Limits:  limits,
		Classes: field.Classes{{Kind: v1alpha1.ClassIngress, Name: "public", RemoteName: "eu"}},
		Maps: func(kind v1alpha1.ClassKind, name string) bool {
			return kind == v1alpha1.ClassIngress && name == "others"
		},
		TargetFor: func(string) field.Target { return field.Target{} },
	}
}

// TestKind: teams do not list it, and a namespace sends so many.
func TestKind(t *testing.T) {
	if ingresses := Kind(); ingresses.Resource != "" || ingresses.Most != 500 {
		t.Errorf("sent with %q, at most %d", ingresses.Resource, ingresses.Most)
	}
}

// TestChoose: ordinary Ingresses are none of our business.
func TestChoose(t *testing.T) {
	unread := around(nil)
	unread.Has = having(field.ClassUnread)
	annotated := of("", "a.example.com")
	annotated.Annotations = map[string]string{"kubernetes.io/ingress.class": "public"}
	for name, test := range map[string]struct {
		local *networkingv1.Ingress
		want  bool
	}{
		"mapped":            {of("public", "a.example.com"), true},
		"by another one":    {of("others", "a.example.com"), true}, // Its owner is told.
		"not mapped":        {of("nginx", "a.example.com"), false},
		"no class":          {of("", "a.example.com"), false},
		"an old annotation": {annotated, false},
	} {
		if goes, known := (translation{}).Choose(test.local, network.Reach{}, around(nil)); goes != test.want || !known {
			t.Errorf("%s: goes %t, known %t", name, goes, known)
		}
		awaited := name == "mapped"
		if goes, known := (translation{}).Choose(test.local, network.Reach{}, unread); goes != test.want || known == awaited {
			t.Errorf("%s: before the provider has said anything, it goes %t, known %t", name, goes, known)
		}
	}
}

// TestNeeds: what is not sent needs nothing; certificates need not be there.
func TestNeeds(t *testing.T) {
	local := of("public", "a.example.com")
	local.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "cert"}}
	want := []decide.Ref{{Key: decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: "team", Name: "cert"}}, Optional: true}}
	if diff := cmp.Diff(want, Kind().Needs(local)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	allowed := &field.Limits{IngressClasses: []string{"eu"}, IngressHosts: []string{"a.example.com"}}
	for name, test := range map[string]struct {
		local  *networkingv1.Ingress
		limits *field.Limits
		want   bool
	}{
		"it goes":           {of("public", "a.example.com"), allowed, false},
		"another class":     {of("others", "a.example.com"), allowed, true},
		"another host":      {of("public", "b.example.com"), allowed, true},
		"no limits yet":     {of("public", "a.example.com"), nil, true},
		"limits are broken": {of("public", "a.example.com"), field.MissingLimits(), true},
	} {
		if accepted, known := Kind().Accepts(test.local, around(test.limits)); accepted == test.want || !known {
			t.Errorf("%s: accepted: %t, known: %t", name, accepted, known)
		}
	}
	for presence, want := range map[field.Presence]bool{field.ClassThere: true, field.ClassMissing: false, field.ClassUnread: false, field.ClassUnknown: true} {
		asked := around(allowed)
		asked.Has = having(presence)
		if accepted, known := Kind().Accepts(of("public", "a.example.com"), asked); accepted != want || known == (presence == field.ClassUnread) {
			t.Errorf("a class that is %q: accepted: %t, known: %t", presence, accepted, known)
		}
	}
}

// having is a provider of whose class eu that is known.
func having(presence field.Presence) field.Has {
	return func(kind v1alpha1.ClassKind, name string) field.Presence {
		if kind == v1alpha1.ClassIngress && name == "eu" {
			return presence
		}
		return field.ClassUnknown
	}
}

// TestMissingClass: without its class an Ingress stays here, and a copy that is there stays there,
// and follows; what else refuses it takes the copy away all the same.
func TestMissingClass(t *testing.T) {
	missing := around(&field.Limits{IngressClasses: []string{"eu"}, IngressHosts: []string{"a.example.com"}})
	missing.Has = having(field.ClassMissing)
	for host, want := range map[string]struct {
		reason string
		keeps  bool
	}{"a.example.com": {v1alpha1.ReasonClassMissing, true}, "b.example.com": {field.ReasonHostNotAllowed, false}} {
		remote, refusal := translation{}.Remote(of("public", host), field.Target{}, missing)
		if refusal == nil || refusal.Reason != want.reason || (translation{}).Keeps(refusal) != want.keeps || (remote != nil) != want.keeps {
			t.Errorf("%s: got %v, %v", host, remote, refusal)
		}
	}
}

// TestRemote: the hosts of the binding count, and a copy is changed, not made again.
func TestRemote(t *testing.T) {
	limited := around(&field.Limits{IngressClasses: []string{"eu"}, IngressHosts: []string{field.All}})
	remote, refusal := translation{}.Remote(of("public", "a.example.com"), field.Target{Namespace: "team-home"}, limited)
	if refusal != nil || ptr.Deref(remote.Spec.IngressClassName, "") != "eu" || remote.Namespace != "team-home" {
		t.Errorf("got %v, %v", remote, refusal)
	}
	limited.Hosts = field.HostPatterns{"b.example.com"}
	if _, refusal := (translation{}).Remote(of("public", "a.example.com"), field.Target{}, limited); refusal == nil || refusal.Reason != field.ReasonHostNotAllowed {
		t.Errorf("got %v", refusal)
	}
	other := remote.DeepCopy()
	other.Spec.Rules[0].Host = "b.example.com"
	if merged, replace := (translation{}).Merge(other, remote); replace || merged.Spec.Rules[0].Host != "b.example.com" {
		t.Errorf("got %v, replaced: %t", merged, replace)
	}
}

// TestReport: the addresses come back, and go.
func TestReport(t *testing.T) {
	own := around(nil)
	own.Own = func() (func(netip.Addr) bool, error) {
		return func(ip netip.Addr) bool { return ip.String() == "10.0.0.1" }, nil
	}
	remote := of("eu", "a.example.com")
	remote.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.1"}, {IP: "10.0.0.1"}, {Hostname: "lb.example.com"}}
	told, problem := translation{}.Report(of("public", "a.example.com"), remote, "eu", own)
	want := []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.1"}, {Hostname: "lb.example.com"}}
	if diff := cmp.Diff(want, told.Status.LoadBalancer.Ingress); diff != "" || problem == nil || problem.Reason != address.ReasonAddressRefused {
		t.Errorf("told %v, (-want +got):\n%s", problem, diff)
	}
	if gone, problem := (translation{}).Report(told, nil, "eu", own); len(gone.Status.LoadBalancer.Ingress)+len(gone.Annotations) > 0 || problem != nil {
		t.Errorf("left %v, %v", gone, problem)
	}
}
