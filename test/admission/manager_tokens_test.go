package admission

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// tokenGrant lets the manager ask for tokens in a namespace, as an administrator does.
func tokenGrant(namespace string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "spillway-pod-tokens"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-pod-tokens"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "spillway-system", Name: "spillway-manager"}},
	}
}

func accountOf(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// requesting asks for a token of a pod, as the manager does, after changes.
func requesting(c client.Client, account *corev1.ServiceAccount, pod *corev1.Pod, changes ...func(*authenticationv1.TokenRequest)) func(context.Context) error {
	request := &authenticationv1.TokenRequest{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway}},
		Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: ptr.To[int64](3600),
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		},
	}
	for _, change := range changes {
		change(request)
	}
	return func(ctx context.Context) error {
		return c.SubResource("token").Create(ctx, account.DeepCopy(), request.DeepCopy())
	}
}

// TestManagerTokens asks for tokens in a namespace where the manager may, and in others.
func TestManagerTokens(t *testing.T) {
	manager, admin := inConsumer(t), server(t).Client
	listed := func() *v1alpha1.NamespaceOffloading {
		offloading := offloadingOf("", "")
		offloading.Spec.APIAccess = v1alpha1.APIAccess{ServiceAccounts: []v1alpha1.ServiceAccountName{"listed"}}
		return offloading
	}
	namespaces := map[string]string{}
	for name, offloading := range map[string]*v1alpha1.NamespaceOffloading{
		"granted": listed(), "not granted": listed(), "without a list": offloadingOf("", ""), "not offloaded": nil,
	} {
		namespace := namespaceOf(t, nil)
		namespaces[name] = namespace
		if offloading != nil {
			offloading.Namespace = namespace
			temporary(t, offloading)
		}
		if name != "not granted" {
			temporary(t, tokenGrant(namespace))
		}
		temporary(t, accountOf(namespace, "listed"))
		temporary(t, accountOf(namespace, "admin"))
	}
	podIn := func(namespace, account string) *corev1.Pod {
		pod := newPod(namespace)
		pod.Name, pod.Spec.ServiceAccountName = "of-"+account, account
		return temporary(t, pod)
	}
	granted := namespaces["granted"]
	pod, other := podIn(granted, "listed"), podIn(granted, "admin")
	of := accountOf(granted, "listed")
	const notBound, tooLong, notListed = "spec.boundObjectRef must be a pod", "spec.expirationSeconds must be 3600 at most", "must list ServiceAccount"
	const noLabel = "the request must have the label spillway.io/managed-by=spillway"
	attempt(t, map[string]try{
		"of a pod":                     {requesting(manager, of, pod), ""},
		"for an audience":              {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) { r.Spec.Audiences = []string{"vault"} }), ""},
		"for ten minutes":              {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) { r.Spec.ExpirationSeconds = ptr.To[int64](600) }), ""},
		"for a year, by 3607 seconds":  {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) { r.Spec.ExpirationSeconds = ptr.To[int64](3607) }), tooLong},
		"of no pod":                    {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) { r.Spec.BoundObjectRef = nil }), notBound},
		"of whatever pod has the name": {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) { r.Spec.BoundObjectRef.UID = "" }), notBound},
		"of a Secret, which nobody deletes": {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) {
			r.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: "any", UID: "any"}
		}), notBound},
		"of an account that is not listed": {requesting(manager, accountOf(granted, "admin"), other), notListed},
		"without the label":                {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) { r.Labels = nil }), noLabel},
		"with another label": {requesting(manager, of, pod, func(r *authenticationv1.TokenRequest) {
			r.Labels[v1alpha1.LabelManagedBy] = "helm"
		}), noLabel},
		"where nobody has granted it": {requesting(manager, accountOf(namespaces["not granted"], "listed"), podIn(namespaces["not granted"], "listed")), "cannot create resource"},
		"where no account is listed":  {requesting(manager, accountOf(namespaces["without a list"], "listed"), podIn(namespaces["without a list"], "listed")), notListed},
		"there, without the label": {requesting(manager, accountOf(namespaces["not offloaded"], "listed"), pod, func(r *authenticationv1.TokenRequest) {
			r.Labels = nil
		}), noLabel},
		"of its own account": {requesting(manager, accountOf("spillway-system", "spillway-manager"), pod), "cannot create resource"},
		// Kubelets, and everybody else, get the tokens that they got before.
		"somebody else, where nothing is offloaded": {requesting(admin, accountOf(namespaces["not offloaded"], "admin"), pod, func(r *authenticationv1.TokenRequest) {
			r.Labels, r.Spec.BoundObjectRef, r.Spec.ExpirationSeconds = nil, nil, ptr.To[int64](3607)
		}), ""},
		"somebody else, of an account that is not listed": {requesting(admin, accountOf(granted, "admin"), other, func(r *authenticationv1.TokenRequest) { r.Labels = nil }), ""},
	})
	nowhere := requesting(manager, accountOf(namespaces["not offloaded"], "listed"), podIn(namespaces["not offloaded"], "listed"))
	if err := nowhere(t.Context()); !says(err, "no params found for policy binding with `Deny`") { // Not Forbidden, but Invalid.
		t.Errorf("where nothing is offloaded: %v", err)
	}
}
