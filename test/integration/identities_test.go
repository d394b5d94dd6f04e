package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What follows stays until the control planes go: the deletion of a binding
// goes on after the spec that has made it.

// limited is the kubeconfig of a ServiceAccount that may do nothing in the
// cluster but verbs on resources, which commas separate.
func (c *controlPlane) limited(resources string, verbs ...string) []byte {
	GinkgoHelper()
	name := unique("limited")
	meta := metav1.ObjectMeta{Name: name}
	c.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: name}})
	c.make(&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: strings.Split(resources, ","), Verbs: verbs},
	}})
	c.make(&rbacv1.ClusterRoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: providerNamespace, Name: name}},
	})
	return c.kubeconfig(providerNamespace, name)
}

// secondConsumer is the kubeconfig of a ServiceAccount with the role of
// config/provider, as a second consumer gets one.
func (c *controlPlane) secondConsumer() []byte {
	GinkgoHelper()
	name := unique("consumer")
	c.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: name}})
	c.make(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: providerAccount},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: providerNamespace, Name: name}},
	})
	return c.kubeconfig(providerNamespace, name)
}
