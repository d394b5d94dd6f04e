package address

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestWithAddresses: the status shows the addresses in the annotations of all providers.
func TestWithAddresses(t *testing.T) {
	const (
		class = `{type: LoadBalancer, loadBalancerClass: x}`
		eu    = "addresses.spillway.io/eu"
		us    = "addresses.spillway.io/us"
	)
	own := func(ip netip.Addr) bool { return ip.String() == "203.0.113.99" }
	for name, test := range map[string]struct {
		spec        string
		annotations map[string]string
		shown       string // In the status before.
		addresses   []string
		want        map[string]string
		wantShown   string
		same        bool
	}{
		"none":              {class, nil, "", nil, nil, "", true},
		"of others only":    {class, map[string]string{us: "203.0.113.1"}, "other.example.com", nil, map[string]string{us: "203.0.113.1"}, "other.example.com", true},
		"the first":         {class, nil, "", []string{"203.0.113.1", "lb.example.com"}, map[string]string{eu: "203.0.113.1,lb.example.com"}, "203.0.113.1 Proxy,lb.example.com", false},
		"as it is":          {class, map[string]string{eu: "203.0.113.1"}, "203.0.113.1 Proxy", []string{"203.0.113.1"}, map[string]string{eu: "203.0.113.1"}, "203.0.113.1 Proxy", true},
		"captured":          {class, map[string]string{eu: "203.0.113.1"}, "203.0.113.1 VIP", []string{"203.0.113.1"}, map[string]string{eu: "203.0.113.1"}, "203.0.113.1 Proxy", false},
		"beside another":    {class, map[string]string{us: "203.0.113.2,203.0.113.1"}, "203.0.113.2 Proxy", []string{"203.0.113.1"}, map[string]string{eu: "203.0.113.1", us: "203.0.113.2,203.0.113.1"}, "203.0.113.1 Proxy,203.0.113.2 Proxy", false},
		"gone, beside":      {class, map[string]string{eu: "203.0.113.1", us: "203.0.113.2"}, "203.0.113.1 Proxy,203.0.113.2 Proxy", nil, map[string]string{us: "203.0.113.2"}, "203.0.113.2 Proxy", false},
		"gone":              {class, map[string]string{eu: "203.0.113.1"}, "203.0.113.1 Proxy", nil, map[string]string{}, "", false},
		"of a stranger":     {class, map[string]string{eu: "203.0.113.1"}, "203.0.113.1 Proxy,192.0.2.9 VIP", []string{"203.0.113.1"}, map[string]string{eu: "203.0.113.1"}, "203.0.113.1 Proxy", false},
		"made up":           {class, map[string]string{us: "127.0.0.1,x, ,web.svc,203.0.113.2,203.0.113.99"}, "", []string{"203.0.113.1"}, map[string]string{eu: "203.0.113.1", us: "127.0.0.1,x, ,web.svc,203.0.113.2,203.0.113.99"}, "203.0.113.1 Proxy,203.0.113.2 Proxy", false},
		"no class any more": {`{type: ClusterIP}`, map[string]string{eu: "203.0.113.1"}, "", nil, map[string]string{}, "", false},
		"a cloud's own":     {`{type: LoadBalancer}`, map[string]string{eu: "203.0.113.1"}, "192.0.2.9 VIP", nil, map[string]string{}, "192.0.2.9 VIP", false},
	} {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.ServiceOf(t, test.spec)
			local.Annotations = test.annotations
			for entry := range strings.SplitSeq(test.shown, ",") {
				if ip, mode, found := strings.Cut(entry, " "); found {
					local.Status.LoadBalancer.Ingress = append(local.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: ip, IPMode: (*corev1.LoadBalancerIPMode)(&mode)})
				} else if entry != "" {
					local.Status.LoadBalancer.Ingress = append(local.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{Hostname: entry})
				}
			}
			before := local.DeepCopy()
			got := WithAddresses(local, "eu", test.addresses, own)
			if (got == local) != test.same {
				t.Errorf("the same: %t", got == local)
			}
			if diff := cmp.Diff(before, local); diff != "" {
				t.Errorf("the local Service was changed:\n%s", diff)
			}
			if diff := cmp.Diff(test.want, got.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			var shown []string
			for _, ingress := range got.Status.LoadBalancer.Ingress {
				entry := ingress.Hostname
				if ingress.IP != "" {
					entry = ingress.IP + " " + string(*ingress.IPMode)
				}
				shown = append(shown, entry)
			}
			if diff := cmp.Diff(test.wantShown, strings.Join(shown, ",")); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMostIngress: the status is limited, because everybody who may edit a Service may write
// annotations.
func TestMostIngress(t *testing.T) {
	local := fieldtest.ServiceOf(t, `{type: LoadBalancer, loadBalancerClass: x}`)
	local.Annotations = map[string]string{}
	for i := range 300 {
		local.Annotations[fmt.Sprintf("addresses.spillway.io/%d", i)] = fmt.Sprintf("203.0.%d.%d", i/250, 1+i%250)
	}
	got := WithAddresses(local, "eu", []string{"lb.example.com"}, func(netip.Addr) bool { return false })
	if n := len(got.Status.LoadBalancer.Ingress); n != mostAddresses {
		t.Errorf("%d are shown", n)
	}
}

// TestAddressesOfAnIngress: an Ingress shows addresses as a Service does, but without a mode.
func TestAddressesOfAnIngress(t *testing.T) {
	local := fieldtest.IngressOf(t, `{}`)
	local.Annotations = map[string]string{"addresses.spillway.io/us": "203.0.113.2"}
	nobodys := func(netip.Addr) bool { return false }
	got := WithAddresses(local, "eu", []string{"203.0.113.1", "lb.example.com"}, nobodys)
	want := []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.1"}, {Hostname: "lb.example.com"}, {IP: "203.0.113.2"}}
	if diff := cmp.Diff(want, got.Status.LoadBalancer.Ingress); diff != "" || got.Annotations["addresses.spillway.io/eu"] != "203.0.113.1,lb.example.com" {
		t.Errorf("%v, (-want +got):\n%s", got.Annotations, diff)
	}
	if WithAddresses(got, "eu", []string{"203.0.113.1", "lb.example.com"}, nobodys) != got {
		t.Error("it is written again")
	}
	got.Status.LoadBalancer.Ingress = append(got.Status.LoadBalancer.Ingress, networkingv1.IngressLoadBalancerIngress{IP: "203.0.113.9"}) // A controller in the consumer serves it now.
	gone := WithAddresses(got, "eu", nil, nobodys)
	if diff := cmp.Diff(append(want[2:], networkingv1.IngressLoadBalancerIngress{IP: "203.0.113.9"}), gone.Status.LoadBalancer.Ingress); diff != "" || len(gone.Annotations) != 1 {
		t.Errorf("%v, (-want +got):\n%s", gone.Annotations, diff)
	}
}
