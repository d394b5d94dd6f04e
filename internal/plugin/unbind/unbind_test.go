package unbind

import (
	"slices"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/conditions"
)

// TestAccess: what gives access goes, and what confines it stays.
func TestAccess(t *testing.T) {
	shipped, err := config.Objects("provider")
	if err != nil {
		t.Fatal(err)
	}
	goes, stays := map[string]bool{}, map[string]bool{}
	access := Access(shipped)
	for _, object := range shipped {
		if slices.Contains(access, object) {
			goes[object.GetKind()] = true
		} else {
			stays[object.GetKind()] = true
		}
	}
	for _, kind := range []string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} {
		if !goes[kind] || stays[kind] {
			t.Errorf("%s stays", kind)
		}
	}
	for _, kind := range []string{"Namespace", "ConfigMap", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		if !stays[kind] || goes[kind] {
			t.Errorf("%s goes", kind)
		}
	}
}

func TestDraining(t *testing.T) {
	binding := &v1alpha1.ClusterBinding{}
	binding.Name = "eu"
	if got := Draining(binding); !strings.Contains(got, "not taken it up") {
		t.Error(got)
	}
	for reason, want := range map[string]string{
		v1alpha1.ReasonEvictingPods:        "EvictingPods: because",
		v1alpha1.ReasonProviderUnreachable: `kubectl patch clusterbinding eu --type=merge -p '{"spec":{"deletionPolicy":"Orphan"}}'`,
	} {
		binding.Status.Conditions = nil
		conditions.Set(&binding.Status.Conditions, 1, conditions.New(v1alpha1.BindingDrained, "False", reason, "because"))
		if got := Draining(binding); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
