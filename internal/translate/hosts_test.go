package translate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostTable says which patterns allow which hosts.
var hostTable = []struct {
	patterns, host string
	want           bool
}{
	{"", "a.example.com", false},
	{"", "*", false},
	{"*", "a.example.com", true},
	{"*", "*.example.com", true},
	{"*", "*", true},
	{"a.example.com", "a.example.com", true},
	{"a.example.com", "b.example.com", false},
	{"a.example.com", "*.example.com", false},
	{"a.example.com", "b.a.example.com", false},
	{"a.example.com", "*", false},
	{"*.example.com", "a.example.com", true},
	{"*.example.com", "a.b.example.com", true},
	{"*.example.com", "*.example.com", true},
	{"*.example.com", "*.b.example.com", true},
	{"*.example.com", "example.com", false},
	{"*.example.com", "badexample.com", false},
	{"*.example.com", "a.example.com.evil.org", false},
	{"*.example.com", "*.com", false},
	{"*.example.com", "*", false},
	{"example.org, *.example.com", "a.example.com", true},
	{"example.org, *.example.com", "example.org", true},
	{"example.org,,", "", false},
	{"*.", "a.example.com", false},
	{"*.", "*", false},
	{"a*", "a.example.com", false},
	{"eu=a.example.com", "a.example.com", true},
	{"us=a.example.com", "a.example.com", false},
	{"eu=*", "*", true},
	{"us=*", "*", false},
	{"us=*,eu=*.example.com", "a.example.com", true},
	{"us=*,eu=*.example.com", "example.com", false},
	{"=a.example.com", "a.example.com", false},
	{"e=u=a.example.com", "a.example.com", false},
	{"eu=us=a.example.com", "a.example.com", false},
	{"eu =a.example.com", "a.example.com", false},
}

// TestHostPatterns: the text of the limit decides which hosts the account eu may have.
func TestHostPatterns(t *testing.T) {
	for _, test := range hostTable {
		if got := HostsFor(listed(test.patterns), "eu").Allow(test.host); got != test.want {
			t.Errorf("%q allows %q: %t", test.patterns, test.host, got)
		}
	}
}

func TestHosts(t *testing.T) {
	const field = "spec.rules[0].host"
	for name, test := range map[string]struct {
		binding, provider HostPatterns
		of                string
		want              string
	}{
		"allowed":             {nil, HostPatterns{All}, "a.example.com", ""},
		"by both":             {HostPatterns{"a.example.com"}, HostPatterns{All}, "a.example.com", ""},
		"not by the binding":  {HostPatterns{"b.example.com"}, HostPatterns{All}, "a.example.com", "spec.rules[0].host is a.example.com: the ClusterBinding does not list it (spec.hosts)"},
		"not by the provider": {HostPatterns{All}, nil, All, "spec.rules[0].host matches every host: the provider does not list it (ingressHosts in ConfigMap spillway-provider/limits)"},
	} {
		got := ""
		if refusal := hostRefusal([]routedHost{{field, test.of}}, test.binding, test.provider); refusal != nil {
			got = strings.TrimPrefix(refusal.Error(), ReasonHostNotAllowed+": ")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
	second := hostRefusal([]routedHost{{"a", "mine.example.com"}, {"b", All}}, nil, HostPatterns{"mine.example.com"})
	if second == nil || !strings.HasPrefix(second.Message, "b matches every host") {
		t.Errorf("of two, the second is not allowed: %v", second)
	}
}
