package integration

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These objects stay until the control planes end: the deletion of a binding continues after its spec.

// limited returns a kubeconfig of a ServiceAccount that has only these rights in the cluster.
func (c *controlPlane) limited(rules ...rbacv1.PolicyRule) []byte {
	GinkgoHelper()
	name := unique("limited")
	meta := metav1.ObjectMeta{Name: name}
	c.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: name}})
	c.make(&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
	c.make(&rbacv1.ClusterRoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: providerNamespace, Name: name}},
	})
	return c.kubeconfig(providerNamespace, name)
}

// shippedRoles returns the ClusterRoles of config/provider.
func (c *controlPlane) shippedRoles() []rbacv1.ClusterRole {
	GinkgoHelper()
	var roles rbacv1.ClusterRoleList
	Expect(c.List(ctx, &roles)).To(Succeed())
	return slices.DeleteFunc(roles.Items, func(role rbacv1.ClusterRole) bool { return !strings.HasPrefix(role.Name, providerAccount) })
}

// lacking returns a kubeconfig of a ServiceAccount with the rights of config/provider, except the verbs on
// one resource. The resource may name its group, as in pods.metrics.k8s.io; else it is the resource of every
// group. There is only one, because the manager might notice any of several first.
func (c *controlPlane) lacking(resource string, verbs ...string) []byte {
	GinkgoHelper()
	var shipped, rules []rbacv1.PolicyRule
	for _, role := range c.shippedRoles() {
		shipped = append(shipped, role.Rules...)
	}
	for _, rule := range shipped {
		for _, each := range rule.Resources {
			one := *rule.DeepCopy()
			one.Resources = []string{each}
			if each == resource || each+"."+rule.APIGroups[0] == resource {
				one.Verbs = slices.DeleteFunc(one.Verbs, func(verb string) bool { return slices.Contains(verbs, verb) })
			}
			if len(one.Verbs) > 0 {
				rules = append(rules, one)
			}
		}
	}
	return c.limited(rules...)
}

// secondConsumer returns a kubeconfig of a ServiceAccount with the roles of config/provider, as for a second
// consumer.
func (c *controlPlane) secondConsumer() []byte {
	GinkgoHelper()
	name := unique("consumer")
	c.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: name}})
	for _, role := range c.shippedRoles() {
		c.make(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: providerNamespace, Name: name}},
		})
	}
	return c.kubeconfig(providerNamespace, name)
}
