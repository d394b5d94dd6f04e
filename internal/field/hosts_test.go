package field_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestHostPatterns: the text of the limit decides which hosts the account eu may have.
func TestHostPatterns(t *testing.T) {
	for _, test := range fieldtest.HostTable {
		if got := field.HostsFor(field.Listed(test.Patterns), "eu").Allow(test.Host); got != test.Want {
			t.Errorf("%q allows %q: %t", test.Patterns, test.Host, got)
		}
	}
}

func TestHosts(t *testing.T) {
	const path = "spec.rules[0].host"
	for name, test := range map[string]struct {
		binding, provider field.HostPatterns
		of                string
		want              string
	}{
		"allowed":             {nil, field.HostPatterns{field.All}, "a.example.com", ""},
		"by both":             {field.HostPatterns{"a.example.com"}, field.HostPatterns{field.All}, "a.example.com", ""},
		"not by the binding":  {field.HostPatterns{"b.example.com"}, field.HostPatterns{field.All}, "a.example.com", "spec.rules[0].host is a.example.com: the ClusterBinding does not list it (spec.hosts)"},
		"not by the provider": {field.HostPatterns{field.All}, nil, field.All, "spec.rules[0].host matches every host: the provider does not list it (ingressHosts in ConfigMap spillway-provider/limits)"},
	} {
		got := ""
		if refusal := field.HostRefusal([]field.RoutedHost{{path, test.of}}, test.binding, test.provider); refusal != nil {
			got = strings.TrimPrefix(refusal.Error(), field.ReasonHostNotAllowed+": ")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
	second := field.HostRefusal([]field.RoutedHost{{"a", "mine.example.com"}, {"b", field.All}}, nil, field.HostPatterns{"mine.example.com"})
	if second == nil || !strings.HasPrefix(second.Message, "b matches every host") {
		t.Errorf("of two, the second is not allowed: %v", second)
	}
}
