package uninstall

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/config"
	"github.com/spillway-io/spillway/internal/plugin/install"
)

// TestStays: what was bound to the manager by hand, and nothing that goes.
func TestStays(t *testing.T) {
	shipped, err := install.Ever()
	if err != nil {
		t.Fatal(err)
	}
	to := func(name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: config.Namespace, Name: name}}
	}
	at := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	var everywhere []rbacv1.ClusterRoleBinding
	for _, object := range shipped {
		if object.GetKind() == "ClusterRoleBinding" {
			everywhere = append(everywhere, rbacv1.ClusterRoleBinding{ObjectMeta: at("", object.GetName()), Subjects: to(config.Manager)})
		}
	}
	everywhere = append(everywhere, rbacv1.ClusterRoleBinding{ObjectMeta: at("", "spillway-volumes"), Subjects: to(config.Manager)}, rbacv1.ClusterRoleBinding{ObjectMeta: at("", "other"), Subjects: to("other")})
	within := []rbacv1.RoleBinding{{ObjectMeta: at("team", "tokens"), Subjects: to(config.Manager)}, {ObjectMeta: at(config.Namespace, "goes"), Subjects: to(config.Manager)}}
	var got []string
	for _, step := range stays(everywhere, within, shipped) {
		_, command, _ := strings.Cut(step.Message, "kubectl delete ")
		got = append(got, command)
	}
	if want := []string{"clusterrolebinding spillway-volumes", "rolebinding tokens -n team"}; len(everywhere) < 3 || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
