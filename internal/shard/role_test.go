package shard

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestRightsAreNoWider compares the shipped rights of replicas that share the bindings with the requests of a
// Registry. The Registry reads and writes its Lease with the right to the election's Lease. It needs two more
// verbs, in one namespace.
func TestRightsAreNoWider(t *testing.T) {
	content, err := os.ReadFile("../../config/shard/replica_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	if err := errors.Join(decoder.Decode(&role), decoder.Decode(&binding)); err != nil {
		t.Fatal(err)
	}
	if err := decoder.Decode(&rbacv1.Role{}); !errors.Is(err, io.EOF) {
		t.Errorf("there is more in the file: %v", err)
	}
	want := []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list", "delete"}}}
	if diff := cmp.Diff(want, role.Rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if role.Kind != "Role" || role.Namespace != "spillway-system" || binding.Kind != "RoleBinding" || binding.Namespace != role.Namespace ||
		binding.RoleRef != (rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: role.Name}) {
		t.Errorf("%s %s/%s, bound by %+v", role.Kind, role.Namespace, role.Name, binding.RoleRef)
	}
	if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Name: "spillway-manager", Namespace: "spillway-system"}}, binding.Subjects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
