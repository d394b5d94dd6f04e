package address_test

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/address"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// own reports addresses in 10.0.0.0/8 and fd00::/16 as the consumer's.
func own(ip netip.Addr) bool {
	return netip.MustParsePrefix("10.0.0.0/8").Contains(ip) || netip.MustParsePrefix("fd00::/16").Contains(ip)
}

// TestChecked tests which addresses a provider may report.
func TestChecked(t *testing.T) {
	const (
		malformed = "it is neither"
		ambiguous = "it leads to another host"
		inCluster = "it is a cluster-internal name"
		ours      = "this cluster uses that address"
	)
	for reported, want := range map[string]struct{ shown, why string }{
		"203.0.113.10":                  {"203.0.113.10", ""},
		"192.168.1.1":                   {"192.168.1.1", ""}, // A private network that both clusters may use.
		"2001:db8::1":                   {"2001:db8::1", ""},
		"2001:DB8:0:0::01":              {"2001:db8::1", ""},
		"a1b2.elb.example.com":          {"a1b2.elb.example.com", ""},
		"xn--bcher-kva.example":         {"xn--bcher-kva.example", ""},
		"svc.example.com":               {"svc.example.com", ""},
		"1.2.3.4.example.com":           {"1.2.3.4.example.com", ""},
		strings.Repeat("a.", 126) + "a": {strings.Repeat("a.", 126) + "a", ""},

		"10.1.2.3":           {"", ours},
		"fd00::7":            {"", ours},
		"127.0.0.1":          {"", ambiguous},
		"127.8.8.8":          {"", ambiguous},
		"0.0.0.0":            {"", ambiguous},
		"0.1.2.3":            {"", ambiguous},
		"169.254.169.254":    {"", ambiguous},
		"224.0.0.1":          {"", ambiguous},
		"240.0.0.1":          {"", ambiguous},
		"255.255.255.255":    {"", ambiguous},
		"::":                 {"", ambiguous},
		"::1":                {"", ambiguous},
		"fe80::1":            {"", ambiguous},
		"fe80::1%eth0":       {"", ambiguous},
		"2001:db8::1%eth0":   {"", ambiguous},
		"ff02::1":            {"", ambiguous},
		"::ffff:10.1.2.3":    {"", ambiguous},
		"::ffff:203.0.113.1": {"", ambiguous},
		"::ffff:cb00:7101":   {"", ambiguous},
		"::10.1.2.3":         {"", ambiguous},
		"64:ff9b::10.1.2.3":  {"", ambiguous},

		"010.1.2.3":                     {"", malformed},
		"203.0.113.010":                 {"", malformed},
		"203.0.113":                     {"", malformed},
		"127.1":                         {"", malformed},
		"2130706433":                    {"", malformed},
		"0x7f.1":                        {"", malformed},
		"127.0x1":                       {"", malformed},
		"0x7f000001":                    {"", malformed},
		"203.0.113.10/32":               {"", malformed},
		"203.0.113.10:80":               {"", malformed},
		"[2001:db8::1]":                 {"", malformed},
		" " + "203.0.113.10":            {"", malformed},
		"203.0.113.10\n":                {"", malformed},
		"203.0.113.10,10.0.0.1":         {"", malformed},
		"٢٠٣.0.113.10":                  {"", malformed},
		"host":                          {"", malformed},
		"localhost":                     {"", malformed},
		"example.com.":                  {"", malformed},
		".example.com":                  {"", malformed},
		"a..example.com":                {"", malformed},
		".":                             {"", malformed},
		"Example.com":                   {"", malformed},
		"*.example.com":                 {"", malformed},
		"a_b.example.com":               {"", malformed},
		"-a.example.com":                {"", malformed},
		"bücher.example":                {"", malformed},
		"a.example.com/path":            {"", malformed},
		"a.1com":                        {"", malformed},
		strings.Repeat("a.", 127):       {"", malformed},
		strings.Repeat("a.", 127) + "a": {"", malformed},

		"web.team.svc":               {"", inCluster},
		"web.team.svc.cluster.local": {"", inCluster},
		"cluster.local":              {"", inCluster},
		"a.localhost":                {"", inCluster},
		"localhost.localdomain":      {"", inCluster},
	} {
		shown, refused := address.Checked([]string{reported}, own)
		if strings.Join(shown, " ") != want.shown {
			t.Errorf("%q: shown: %q", reported, shown)
		}
		if (len(refused) == 0) != (want.why == "") || len(refused) > 0 && !strings.HasPrefix(refused[0].Why, want.why) {
			t.Errorf("%q: refused: %+v", reported, refused)
		}
	}
}

// TestCheckedList checks that good addresses stay, that order and duplicates do not matter, and that the list
// is bounded.
func TestCheckedList(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("203.0.113.%d", i+100))
	}
	for name, test := range map[string]struct {
		reported, shown, refused []string
	}{
		"none":               {nil, nil, nil},
		"empty":              {[]string{"", ""}, nil, nil},
		"one is refused":     {[]string{"b.example.com", "127.0.0.1", "203.0.113.1"}, []string{"203.0.113.1", "b.example.com"}, []string{"127.0.0.1"}},
		"one is there twice": {[]string{"2001:db8::1", "203.0.113.1", "2001:DB8::1", ""}, []string{"2001:db8::1", "203.0.113.1"}, nil},
		"most":               {many[:address.Most], many[:address.Most], nil},
		"too many":           {many, many[:address.Most], many[address.Most : address.Most+1]},
		"cleaned":            {[]string{"a\x1b[31m\n" + strings.Repeat("b", 100)}, nil, []string{"a [31m " + strings.Repeat("b", 56) + "…"}},
	} {
		shown, all := address.Checked(test.reported, own)
		var refused []string
		for _, r := range all {
			refused = append(refused, r.Address)
		}
		if diff := cmp.Diff(test.shown, shown) + cmp.Diff(test.refused, refused); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzChecked checks that an API server accepts what is shown, and that an annotation returns what was
// written to it.
func FuzzChecked(f *testing.F) {
	for _, seed := range []string{"203.0.113.1", "2001:DB8::1", "a.example.com", "127.1", "fe80::1%a,b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown, _ := address.Checked([]string{text}, own)
		for _, s := range shown {
			if ip := netutils.ParseIPSloppy(s); ip != nil && ip.String() != s {
				t.Errorf("%q is not in its canonical form", s)
			} else if ip == nil && len(validation.IsDNS1123Subdomain(s)) > 0 {
				t.Errorf("%q is no name", s)
			}
		}
		if diff := cmp.Diff(shown, address.All(address.Annotate(nil, "eu", shown), own)); diff != "" {
			t.Errorf("(-shown +read):\n%s", diff)
		}
	})
}

// TestOfNodes tests the addresses of the consumer's own nodes and of their pods.
func TestOfNodes(t *testing.T) {
	node := func(kind string, cidrs []string, addresses ...string) corev1.Node {
		n := builder.Node("n").Obj()
		n.Labels = map[string]string{v1alpha1.LabelNodeType: kind}
		n.Spec.PodCIDRs = cidrs
		for _, a := range addresses {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: a})
		}
		return *n
	}
	has := address.OfNodes([]corev1.Node{
		node("", []string{"10.1.0.0/24", "fd00:1::/64", "rubbish"}, "192.0.2.1", "2001:db8::1", "host"),
		node(v1alpha1.NodeTypeVirtual, []string{"10.2.0.0/24"}, "192.0.2.2"),
		node("other", nil, "192.0.2.3"),
	})
	for text, want := range map[string]bool{
		"10.1.0.9": true, "fd00:1::9": true, "192.0.2.1": true, "2001:db8::1": true, "192.0.2.3": true,
		"10.2.0.9": false, "192.0.2.2": false, "192.0.2.4": false, "2001:db8::2": false,
	} {
		if got := has(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestAnnotate checks that each provider has one annotation, and that other annotations do not change.
func TestAnnotate(t *testing.T) {
	const eu, us = "addresses.spillway.io/eu", "addresses.spillway.io/us"
	for name, test := range map[string]struct {
		before map[string]string
		shown  []string
		want   map[string]string
	}{
		"the first one":   {nil, []string{"192.0.2.1", "a.example.com"}, map[string]string{eu: "192.0.2.1,a.example.com"}},
		"another one":     {map[string]string{eu: "192.0.2.1", us: "192.0.2.9", "a": "b"}, []string{"192.0.2.2"}, map[string]string{eu: "192.0.2.2", us: "192.0.2.9", "a": "b"}},
		"none":            {map[string]string{eu: "192.0.2.1", us: "192.0.2.9"}, nil, map[string]string{us: "192.0.2.9"}},
		"none, as it was": {nil, nil, nil},
	} {
		before := maps.Clone(test.before)
		if diff := cmp.Diff(test.want, address.Annotate(test.before, "eu", test.shown)) + cmp.Diff(before, test.before); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// TestAll checks that the result has the addresses of all providers, even if somebody else wrote the
// annotations.
func TestAll(t *testing.T) {
	got := address.All(map[string]string{
		"addresses.spillway.io/us":   "a.example.com,203.0.113.1",
		"addresses.spillway.io/eu":   "203.0.113.2,203.0.113.1,,10.0.0.1,127.0.0.1, 203.0.113.9",
		"addresses.spillway.io/many": strings.Repeat(",203.0.113.3", 20) + ",203.0.113.4",
		"spillway.io/sync":           "203.0.113.5",
		"example.com/addresses":      "203.0.113.6",
	}, own)
	if diff := cmp.Diff([]string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "a.example.com"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
