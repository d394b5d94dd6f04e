package field_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

func TestName(t *testing.T) {
	long := strings.Repeat("a", 253)
	tests := map[string]struct {
		target          field.Target
		namespace, name string
		want            string
	}{
		"kept":                        {fieldtest.Mapped, "team", "web", "web"},
		"kept however long":           {fieldtest.Mapped, "team", long, long},
		"hashed":                      {fieldtest.Shared, "team", "web", "web-"},
		"cut":                         {fieldtest.Shared, "team", long, strings.Repeat("a", 30) + "-"},
		"cut at a dot":                {fieldtest.Shared, "team", strings.Repeat("a", 29) + ".b", strings.Repeat("a", 29) + "-"},
		"cut at several":              {fieldtest.Shared, "team", strings.Repeat("a", 27) + "-.-b", strings.Repeat("a", 27) + "-"},
		"dots are kept in the middle": {fieldtest.Shared, "team", "a.b.c", "a.b.c-"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.target.Name(test.namespace, test.name)
			if len(validation.IsDNS1123Subdomain(got)) > 0 {
				t.Errorf("%s is not a name", got)
			}
			if !test.target.Hashed {
				if got != test.want {
					t.Errorf("got %s", got)
				}
				return
			}
			if len(got) > 63 || !strings.HasPrefix(got, test.want) || len(got) != len(test.want)+32 {
				t.Errorf("got %s, want %s and 32 digits", got, test.want)
			}
		})
	}
}

func TestNameIsFixed(t *testing.T) {
	// The manager finds existing remote objects by this name, so it must never change.
	if got := fieldtest.Shared.Name("team", "web"); got != "web-1392ade3b0d8f485e74733cb76130335" {
		t.Errorf("got %s", got)
	}
}

func TestNamesDoNotCollide(t *testing.T) {
	other := field.Target{Mark: provenance.Mark{Origin: "other", ClusterID: "eu"}, Namespace: "mount", Hashed: true}
	us := field.Target{Mark: provenance.Mark{Origin: "origin", ClusterID: "us"}, Namespace: "mount", Hashed: true}
	beginning := strings.Repeat("a", 30)
	names := map[string]string{
		"cut, one":                      fieldtest.Shared.Name("team", beginning+"1"),
		"cut, another":                  fieldtest.Shared.Name("team", beginning+"2"),
		"another namespace":             fieldtest.Shared.Name("other", beginning+"1"),
		"namespace and name divided":    fieldtest.Shared.Name("a", "b-c"),
		"and otherwise":                 fieldtest.Shared.Name("a-b", "c"),
		"a volume":                      fieldtest.Shared.ClusterScopedName(beginning + "1"),
		"another volume":                fieldtest.Shared.ClusterScopedName(beginning + "2"),
		"a volume of another consumer":  other.ClusterScopedName(beginning + "1"),
		"a volume through another":      us.ClusterScopedName(beginning + "1"),
		"a volume of a mapped one, too": field.Target{Mark: us.Mark, Namespace: "x"}.ClusterScopedName(beginning + "3"),
	}
	seen := map[string]string{}
	for what, name := range names {
		if before, found := seen[name]; found {
			t.Errorf("%s and %s are both %s", what, before, name)
		}
		seen[name] = what
	}
	if fieldtest.Mapped.ClusterScopedName("v") != fieldtest.Shared.ClusterScopedName("v") {
		t.Error("the remote name of a volume depends on the namespace of its claim")
	}
}
