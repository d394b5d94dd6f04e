package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestConsumerMakesNamespaces(t *testing.T) {
	consumer := inProvider(t)
	const unmarked, unsafe = "lacks the labels of Spillway", "must have the label pod-security.kubernetes.io/enforce"
	for name, test := range map[string]struct {
		labels map[string]string
		want   string // Part of the refusal; empty: allowed.
	}{
		"all labels":         {held(mark()), ""},
		"restricted pods":    {enforcing("restricted"), ""},
		"no labels":          {nil, unmarked},
		"not managed by us":  {held(markBut(v1alpha1.LabelManagedBy, "")), unmarked},
		"managed by another": {held(markBut(v1alpha1.LabelManagedBy, "helm")), unmarked},
		"no origin":          {held(markBut(v1alpha1.LabelOrigin, "")), unmarked},
		"no binding":         {held(markBut(v1alpha1.LabelBinding, "")), unmarked},
		"no pod security":    {mark(), unsafe},
		"privileged pods":    {enforcing("privileged"), unsafe},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := remoteNamespace(test.labels)
			refused(t, consumer.Create(t.Context(), namespace), test.want)
			if test.want == "" {
				refused(t, consumer.Delete(t.Context(), namespace), "")
			}
		})
	}
}

func TestConsumerAndForeignNamespaces(t *testing.T) {
	consumer := inProvider(t)
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(t, nil)}}
	refused(t, consumer.Delete(t.Context(), foreign), "lacks the labels of Spillway")
	// An administrator is not restricted.
	refused(t, server(t).Delete(t.Context(), foreign), "")
}

// TestConsumerWithTooManyRights gives such an identity all rights of RBAC: the policy still restricts it.
func TestConsumerWithTooManyRights(t *testing.T) {
	temporary(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "careless-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "spillway-provider", Name: "careless"}},
	})
	careless := server(t).consumer(t, "careless")
	becomes(t, careless, remoteNamespace(held(markOf("careless"))), "")
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(t, held(markOf("careless")))}}
	privileged := merge(`{"metadata":{"labels":{"` + podSecurity + `":"privileged"}}}`)
	refused(t, careless.Patch(t.Context(), own, privileged), "a consumer may create and delete namespaces, not update them")
	foreign := podOf(metav1.ObjectMeta{Namespace: namespaceOf(t, held(nil)), Name: "pod", Labels: mark()})
	refused(t, careless.Create(t.Context(), foreign), "lacks the labels of Spillway: a consumer may write nothing in it")
}
