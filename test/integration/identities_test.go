package integration

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What follows stays until the control planes go: the deletion of a binding
// goes on after the spec that has made it.

// limited is the kubeconfig of a ServiceAccount that may do nothing in the
// cluster but what the rules say.
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

// shippedRoles are the ClusterRoles of config/provider.
var shippedRoles = []string{providerAccount, providerAccount + "-services", providerAccount + "-networkpolicies", providerAccount + "-endpointslices", providerAccount + "-poddisruptionbudgets", providerAccount + "-ingresses", providerAccount + "-gatewayroutes", providerAccount + "-logs", providerAccount + "-exec", providerAccount + "-metrics"}

// lacking is the kubeconfig of a ServiceAccount that may do all that the roles of
// config/provider allow, but for verbs on a resource, such as pods, or those of one
// group alone, such as pods.metrics.k8s.io. Of several resources that
// are out of reach, any might be noticed first.
func (c *controlPlane) lacking(resource string, verbs ...string) []byte {
	GinkgoHelper()
	var shipped, rules []rbacv1.PolicyRule
	for _, name := range shippedRoles {
		role := &rbacv1.ClusterRole{}
		Expect(c.Get(ctx, client.ObjectKey{Name: name}, role)).To(Succeed())
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

// secondConsumer is the kubeconfig of a ServiceAccount with the roles of
// config/provider, as a second consumer gets one.
func (c *controlPlane) secondConsumer() []byte {
	GinkgoHelper()
	name := unique("consumer")
	c.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: providerNamespace, Name: name}})
	for _, role := range shippedRoles {
		c.make(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: providerNamespace, Name: name}},
		})
	}
	return c.kubeconfig(providerNamespace, name)
}
