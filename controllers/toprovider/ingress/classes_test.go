package ingress

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestIngressClassesThatAreNotThere: an Ingress waits until the provider has its class.
func TestIngressClassesThatAreNotThere(t *testing.T) {
	const missing = "ClassMissing: spec.ingressClassName: the provider has no IngressClass \"eu-public\", to which spec.classes of the ClusterBinding maps it; "
	for name, test := range map[string]struct {
		class string
		has   field.Presence
		want  string // The beginning of the refusal.
	}{
		"there":           {"public", field.ClassThere, ""},
		"nobody can tell": {"public", field.ClassUnknown, ""},
		"missing":         {"public", field.ClassMissing, missing},
		"not known yet":   {"public", field.ClassUnread, "ReferenceNotSynced: spec.ingressClassName"},
		"not mapped":      {"nginx", field.ClassMissing, ""},
	} {
		local := fieldtest.IngressOf(t, `{ingressClassName: `+test.class+`}`)
		got := ""
		if refusal := ingressClassRefusal(local, euClasses, func(kind v1alpha1.ClassKind, name string) field.Presence {
			if kind != v1alpha1.ClassIngress || name != "eu-public" {
				t.Errorf("%s: asked for %s %s", name, kind, name)
			}
			return test.has
		}); refusal != nil {
			got = refusal.Reason + ": " + refusal.Message
		}
		if !strings.HasPrefix(got, test.want) || got != "" && test.want == "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
