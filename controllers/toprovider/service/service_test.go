package service

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// TestNever: the Service of the consumer's API server stays at home, and no other one of
// that name does.
func TestNever(t *testing.T) {
	for name, want := range map[types.NamespacedName]bool{
		{Namespace: "default", Name: "kubernetes"}: true,
		{Namespace: "default", Name: "web"}:        false,
		{Namespace: "team", Name: "kubernetes"}:    false,
	} {
		services := Kind()
		if got := services.Never(name); got != want {
			t.Errorf("%s is never sent: %t, want %t", name, got, want)
		}
	}
}

// TestKind: an offloading calls the kind as its default list does, and a namespace sends
// so many.
func TestKind(t *testing.T) {
	services := Kind()
	spec := v1alpha1.NamespaceOffloadingSpec{}
	if !spec.Sends(services.Resource) || services.Most != 1000 {
		t.Errorf("sent by default: %t, at most %d", spec.Sends(services.Resource), services.Most)
	}
}

// TestNotice: the owner of a Service gets the notice of serviceNotice, and nothing else.
func TestNotice(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	want := &field.Problem{Reason: ReasonServiceWithoutEndpoints, Message: serviceNotice(service, nil, nil).Message}
	if diff := cmp.Diff(want, translation{}.Notice(service, nil, decide.Inputs{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	service.Spec.Selector = map[string]string{"app": "web"}
	if got := (translation{}).Notice(service, nil, decide.Inputs{}); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestReport: the addresses of a load balancer in the provider come back while the Service is
// to have one there.
func TestReport(t *testing.T) {
	const key = v1alpha1.AnnotationAddressesPrefix + "eu"
	around := decide.Inputs{
		Limits:  &field.Limits{LoadBalancerClasses: []string{"*"}},
		Classes: field.Classes{{Kind: v1alpha1.ClassLoadBalancer, Name: "x"}},
		Own: func() (func(netip.Addr) bool, error) {
			return func(ip netip.Addr) bool { return ip.String() == "10.0.0.1" }, nil
		},
	}
	unmapped, ending := around, around
	unmapped.Classes = nil
	ending.Own = func() (func(netip.Addr) bool, error) { return nil, errors.New("the cache has ended") }
	balanced := func(annotation string, entries ...string) *corev1.Service {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("x")}}
		if annotation != "" {
			service.Annotations = map[string]string{key: annotation}
			service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: annotation, IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)}}
		}
		for _, entry := range entries {
			service.Status.LoadBalancer.Ingress = append(service.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: entry})
		}
		return service
	}
	for name, test := range map[string]struct {
		local, remote *corev1.Service
		around        decide.Inputs
		want          string
		same, told    bool
	}{
		"no address yet":        {balanced(""), balanced(""), around, "", true, false},
		"an address":            {balanced(""), balanced("", "203.0.113.1"), around, "203.0.113.1", false, false},
		"which is shown":        {balanced("203.0.113.1"), balanced("", "203.0.113.1"), around, "203.0.113.1", true, false},
		"one of the consumer":   {balanced(""), balanced("", "203.0.113.1", "10.0.0.1"), around, "203.0.113.1", false, true},
		"only such":             {balanced("203.0.113.1"), balanced("", "10.0.0.1"), around, "", false, true},
		"it is gone":            {balanced("203.0.113.1"), nil, around, "", false, false},
		"it never was there":    {balanced(""), nil, ending, "", true, false},
		"not mapped":            {balanced(""), balanced("", "203.0.113.1"), unmapped, "", true, false},
		"not mapped any more":   {balanced("203.0.113.1"), balanced("", "203.0.113.1"), unmapped, "", false, false},
		"the caches are ending": {balanced("203.0.113.1"), nil, ending, "203.0.113.1", true, false},
	} {
		got, problem := translation{}.Report(test.local, test.remote, "eu", test.around)
		if (got == test.local) != test.same || got.Annotations[key] != test.want || (problem != nil) != test.told {
			t.Errorf("%s: the same %t, %q, %v", name, got == test.local, got.Annotations[key], problem)
		}
		if shown := len(got.Status.LoadBalancer.Ingress); shown != len(got.Annotations) {
			t.Errorf("%s: %d are shown", name, shown)
		}
		if problem != nil && (problem.Reason != "AddressRefused" || !strings.Contains(problem.Message, "provider eu") || !strings.Contains(problem.Message, "10.0.0.1")) {
			t.Errorf("%s: told %v", name, problem)
		}
	}
}
