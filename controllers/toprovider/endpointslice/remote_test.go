package endpointslice

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// ofPods has the label of EndpointSlices that the consumer's controller writes.
const ofPods = `metadata: {labels: {endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}}, `

// sliceOf returns the EndpointSlice team/web with that content.
func sliceOf(t testing.TB, content string) *discoveryv1.EndpointSlice {
	t.Helper()
	slice := fieldtest.Parse[discoveryv1.EndpointSlice](t, `{metadata: {namespace: team, name: web, uid: uid, labels: {kubernetes.io/service-name: web}}}`)
	fieldtest.Merged(t, slice, content)
	return slice
}

// TestEndpointSlice compares the remote EndpointSlice with the expected one.
func TestEndpointSlice(t *testing.T) {
	const someLeftOut, own = "it is sent without some of its addresses", `nodeName: eu`
	for name, test := range map[string]struct{ local, want, leftOut string }{
		"of a Service without a selector": {
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], ports: [{name: sql, protocol: TCP, port: 5432, appProtocol: example.com/sql}, {name: x, port: 1}]}`,
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], ports: [{name: sql, protocol: TCP, port: 5432, appProtocol: example.com/sql}, {name: x, port: 1}]}`, ""},
		"whose endpoint comes and goes": {
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1], hostname: db-0, conditions: {ready: false, serving: true, terminating: true}}]}`,
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1], hostname: db-0, conditions: {ready: false, serving: true, terminating: true}}]}`, ""},
		"with names of the consumer": {
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1], nodeName: n, zone: z, targetRef: {kind: Pod, name: p}, hints: {forZones: [{name: z}], forNodes: [{name: n}]}}]}`,
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}]}`, ""},
		"of the other family": {`{addressType: IPv6, endpoints: [{addresses: ["fd00:1::1"]}]}`, `{addressType: IPv6, endpoints: [{addresses: ["fd00:1::1"]}]}`, ""},
		"written otherwise":   {`{addressType: IPv6, endpoints: [{addresses: ["FD00:0001:0::01"]}]}`, `{addressType: IPv6, endpoints: [{addresses: ["fd00:1::1"]}]}`, ""},
		"in another order": {`{addressType: IPv4, endpoints: [{addresses: [10.1.0.3]}, {addresses: [10.1.0.1], hostname: a}, {addresses: [10.1.0.2]}, {addresses: [10.1.0.1], hostname: b}]}`,
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1], hostname: a}, {addresses: [10.1.0.1], hostname: b}, {addresses: [10.1.0.2]}, {addresses: [10.1.0.3]}]}`, ""},
		"of selected pods, some of them there": {`{` + ofPods + `addressType: IPv4, endpoints: [{addresses: [10.9.0.1], ` + own + `}, {addresses: [10.1.0.1], nodeName: us}, {addresses: [10.1.0.2]}]}`,
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}, {addresses: [10.1.0.2]}]}`, ""},
		"of others, that are there": {`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1], ` + own + `}]}`, `{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}]}`, ""},
		"of which one is outside":   {`{addressType: IPv4, endpoints: [{addresses: [10.2.0.1]}, {addresses: [10.1.0.1]}]}`, `{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}]}`, someLeftOut},
		"of which the first address is outside": {`{addressType: IPv4, endpoints: [{addresses: [10.2.0.1, 10.1.0.2, 10.1.0.1]}]}`,
			`{addressType: IPv4, endpoints: [{addresses: [10.1.0.2, 10.1.0.1]}]}`, someLeftOut},
	} {
		t.Run(name, func(t *testing.T) {
			local := sliceOf(t, test.local)
			before := local.DeepCopy()
			got, refusal := toRemote(local, fieldtest.Mapped, fieldtest.Listing, "eu")
			if refusal != nil {
				t.Fatal(refusal)
			}
			want := sliceOf(t, test.want)
			want.ObjectMeta = metav1.ObjectMeta{Name: "web", Namespace: "team-eu", Labels: fieldtest.Mark.Labels(), Annotations: got.Annotations}
			want.Labels[discoveryv1.LabelServiceName], want.Labels[discoveryv1.LabelManagedBy] = "web", "syncer.spillway.io"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if said := field.LeftOut(got); (said != "") != (test.leftOut != "") || !strings.HasPrefix(said, test.leftOut) {
				t.Errorf("left out: %q", said)
			}
			for i := range got.Endpoints {
				got.Endpoints[i].Addresses[0] = "changed"
				if ready := got.Endpoints[i].Conditions.Ready; ready != nil {
					*ready = !*ready
				}
			}
			for i := range got.Ports {
				*got.Ports[i].Port++
			}
			if diff := cmp.Diff(before, local); diff != "" {
				t.Errorf("the local EndpointSlice was changed:\n%s", diff)
			}
		})
	}
}

func TestEndpointSliceRefusals(t *testing.T) {
	const ask = "its administrator must list the ranges (endpointCIDRs in ConfigMap spillway-provider/limits: "
	for name, test := range map[string]struct {
		local           string
		limits          *field.Limits
		reason, mention string
	}{
		"names":           {`{addressType: FQDN, endpoints: [{addresses: [db.example.com]}]}`, fieldtest.Listing, ReasonAddressNotAllowed, "addressType is FQDN"},
		"kept at home":    {`{metadata: {labels: {spillway.io/sync: never}}, addressType: IPv4}`, fieldtest.Listing, field.ReasonSyncNever, "spillway.io/sync=never"},
		"all are outside": {`{addressType: IPv4, endpoints: [{addresses: [10.2.0.1]}]}`, fieldtest.Listing, ReasonAddressNotAllowed, ask + "10.1.0.0/16, fd00:1::/48)"},
		"nothing is listed, as shipped": {`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}]}`, &field.Limits{}, ReasonAddressNotAllowed,
			"it is not sent, because the provider allows none of its addresses: " + ask + "there are none)"},
		"much is listed": {`{addressType: IPv4, endpoints: [{addresses: [10.2.0.1]}]}`,
			&field.Limits{EndpointCIDRs: append(fieldtest.Listing.EndpointCIDRs, fieldtest.Listing.EndpointCIDRs...)}, ReasonAddressNotAllowed, ask + "10.1.0.0/16, fd00:1::/48, 10.1.0.0/16 and more)"},
	} {
		if got, refusal := toRemote(sliceOf(t, test.local), fieldtest.Mapped, test.limits, "eu"); got != nil || refusal == nil || refusal.Reason != test.reason || !strings.Contains(refusal.Message, test.mention) {
			t.Errorf("%s: got %v, %v", name, got, refusal)
		}
	}
}

// TestAllowsAddress: some addresses are never allowed, even if the limits list every range.
func TestAllowsAddress(t *testing.T) {
	everything := &field.Limits{EndpointCIDRs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	for text, want := range map[string]bool{
		"10.1.0.1": true, "192.0.2.1": true, "fd00::1": true, "2001:db8::1": true,
		"127.0.0.1": false, "0.0.0.0": false, "169.254.1.1": false, "224.0.0.1": false, "169.254.169.254": false,
		"::1": false, "::": false, "fe80::1": false, "ff02::1": false,
	} {
		of := discoveryv1.AddressTypeIPv6
		if netip.MustParseAddr(text).Is4() {
			of = discoveryv1.AddressTypeIPv4
		}
		if got := allowedAddresses(everything, []string{text}, of); (len(got) == 1) != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	for text, of := range map[string]discoveryv1.AddressType{
		"10.1.0.01": "IPv4", "10.1": "IPv4", "": "IPv4", "db": "IPv4", "10.1.0.1/32": "IPv4", "fd00:1::1": "IPv4",
		"10.1.0.1": "IPv6", "::ffff:10.1.0.1": "IPv6", "fd00:1::1%eth0": "IPv6",
	} {
		if got := allowedAddresses(everything, []string{text}, of); got != nil {
			t.Errorf("%s as %s: got %v", text, of, got)
		}
	}
	for text, want := range map[string]bool{"10.1.255.255": true, "10.2.0.0": false, "10.0.255.255": false, "fd00:1::1": true, "fd00:2::1": false} {
		if got := allowsAddress(fieldtest.Listing, netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: got %t", text, got)
		}
	}
	if allowsAddress(nil, netip.MustParseAddr("10.1.0.1")) {
		t.Error("allowed before the limits are known")
	}
}

// TestHasEndpointsElsewhere: endpoints that the provider lists itself do not count.
func TestHasEndpointsElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		local string
		want  bool
	}{
		"none":                       {`{addressType: IPv4}`, false},
		"selected pods there":        {`{` + ofPods + `addressType: IPv4, endpoints: [{addresses: [10.1.0.1], nodeName: eu}]}`, false},
		"selected pods of a group":   {`{` + ofPods + `addressType: IPv4, endpoints: [{addresses: [10.1.0.1], nodeName: eu.a-1}]}`, false},
		"selected pods of another":   {`{` + ofPods + `addressType: IPv4, endpoints: [{addresses: [10.1.0.1], nodeName: eu-a-1}]}`, true},
		"selected pods on both":      {`{` + ofPods + `addressType: IPv4, endpoints: [{addresses: [10.1.0.1], nodeName: eu}, {addresses: [10.1.0.2], nodeName: us}]}`, true},
		"selected pods of no node":   {`{` + ofPods + `addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}]}`, true},
		"what somebody lists":        {`{addressType: IPv4, endpoints: [{addresses: [10.1.0.1], nodeName: eu}]}`, true},
		"what is not allowed, there": {`{addressType: IPv4, endpoints: [{addresses: [10.2.0.1]}]}`, true},
	} {
		if got := hasEndpointsElsewhere(sliceOf(t, test.local), "eu"); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestLabelsOfSlices: labels that say what an EndpointSlice is for are always sent. Labels that it has
// from its Service are sent only if the limits list them.
func TestLabelsOfSlices(t *testing.T) {
	local := sliceOf(t, `{`+ofPods+`addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}]}`)
	local.Labels["service.kubernetes.io/headless"], local.Labels["example.com/team"], local.Labels["app"] = "", "a", "web"
	local.Annotations = map[string]string{"endpoints.kubernetes.io/last-change-trigger-time": "now"}
	for name, limits := range map[string]*field.Limits{
		"nothing is listed":      {EndpointCIDRs: fieldtest.Listing.EndpointCIDRs},
		"its domain is reserved": {EndpointCIDRs: fieldtest.Listing.EndpointCIDRs, ReservedKeys: []string{"kubernetes.io/"}},
		"its controller's is":    {EndpointCIDRs: fieldtest.Listing.EndpointCIDRs, MetadataKeys: []string{"endpoints.kubernetes.io/"}},
	} {
		remote, refusal := toRemote(local, fieldtest.Mapped, limits, "eu")
		if refusal != nil {
			t.Fatal(refusal)
		}
		limits.Withhold(remote, nil)
		want := fieldtest.Mark.Labels()
		want["kubernetes.io/service-name"], want["endpointslice.kubernetes.io/managed-by"], want["service.kubernetes.io/headless"], want["app"] = "web", "syncer.spillway.io", "", "web"
		if diff := cmp.Diff(want, remote.Labels); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(fieldtest.ProvenanceOf("app,endpointslice.kubernetes.io/managed-by,kubernetes.io/service-name,service.kubernetes.io/headless;"), remote.Annotations); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

func TestMergeEndpointSlice(t *testing.T) {
	const content = `addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], ports: [{port: 80}]`
	sent := func(t *testing.T, of string) *discoveryv1.EndpointSlice {
		remote, refusal := toRemote(sliceOf(t, `{`+of+`}`), fieldtest.Mapped, fieldtest.Listing, "eu")
		if refusal != nil {
			t.Fatal(refusal)
		}
		return remote
	}
	for name, test := range map[string]struct {
		change        func(*discoveryv1.EndpointSlice)
		same, replace bool
	}{
		"nothing":                    {func(*discoveryv1.EndpointSlice) {}, true, false},
		"it lacked something":        {func(s *discoveryv1.EndpointSlice) { s.Annotations["spillway.io/left-out"] = "some" }, false, false},
		"a label of the provider's":  {func(s *discoveryv1.EndpointSlice) { s.Labels["theirs"] = "x" }, true, false},
		"another manager":            {func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = managerOfPods }, false, false},
		"the Service is taken off":   {func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelServiceName) }, false, false},
		"another endpoint":           {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.1.0.2" }, false, false},
		"one more endpoint":          {func(s *discoveryv1.EndpointSlice) { s.Endpoints = append(s.Endpoints, s.Endpoints[0]) }, false, false},
		"another port":               {func(s *discoveryv1.EndpointSlice) { *s.Ports[0].Port = 81 }, false, false},
		"no ports":                   {func(s *discoveryv1.EndpointSlice) { s.Ports = nil }, false, false},
		"addresses of another kind":  {func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 }, true, true},
		"a node that somebody names": {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].NodeName = &s.Name }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			desired, remote := sent(t, content), sent(t, content)
			test.change(remote)
			before := remote.DeepCopy()
			merged, replace := merge(desired, remote)
			if equality.Semantic.DeepEqual(merged, remote) != test.same || replace != test.replace {
				t.Errorf("%v, replaced: %t", merged, replace)
			}
			if diff := cmp.Diff(before, remote); diff != "" {
				t.Errorf("what is there was changed:\n%s", diff)
			}
			if again, _ := merge(desired, merged); !equality.Semantic.DeepEqual(again, merged) {
				t.Error("it is not as it should be")
			}
			if diff := cmp.Diff(desired.Endpoints, merged.Endpoints); diff != "" {
				t.Error(diff)
			}
		})
	}
}
