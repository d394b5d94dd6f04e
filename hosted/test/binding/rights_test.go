package binding

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	program "github.com/spillway-io/spillway/hosted/operator"
	"github.com/spillway-io/spillway/test/manifests"
)

// TestOperatorRights lists every right of the shipped account.
func TestOperatorRights(t *testing.T) {
	shipped, err := manifests.Kustomized(t.Context(), "config/hosted")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, object := range shipped {
		switch kind := object.GetKind(); kind {
		case "ClusterRole", "Role":
			var role rbacv1.ClusterRole
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
				t.Fatal(err)
			}
			for _, rule := range role.Rules {
				for _, resource := range rule.Resources {
					got[role.Namespace] = append(got[role.Namespace], strings.Join(append(append([]string{resource}, rule.ResourceNames...), rule.Verbs...), " "))
				}
			}
		case "ClusterRoleBinding", "RoleBinding":
			var binding rbacv1.ClusterRoleBinding
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: operatorNamespace}}, binding.Subjects); diff != "" || binding.RoleRef.Name != account {
				t.Errorf("%s %s binds %s to %v", kind, binding.Name, binding.RoleRef.Name, binding.Subjects)
			}
		}
	}
	want := map[string][]string{
		"": {
			"hostedclusters get list watch patch update", "hostedclusters/status update",
			"clusterbindings get create patch delete",
		},
		"default":         {"events create patch"},
		operatorNamespace: {"secrets get list watch", "leases create", "leases spillway-hosted get update", "events create patch"},
		managerNamespace:  {"secrets get create patch delete"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestConfined: the operator finds out whether the policy confines the account that it runs as.
func TestConfined(t *testing.T) {
	shipped, err := client.New(operator(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		as   client.Client
		want bool
	}{"the shipped account": {shipped, true}, "another account": {consumer, false}} {
		// An API server applies a policy a moment after the write.
		var confined bool
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			is, err := program.Confined(ctx, test.as, managerNamespace)
			confined = is
			return is == test.want, err
		})
		if err != nil {
			t.Errorf("%s: confined: %v, want %v (%v)", name, confined, test.want, err)
		}
	}
}

// TestOperatorWritesOnlyItsOwn: requests of a thief of its token are refused.
func TestOperatorWritesOnlyItsOwn(t *testing.T) {
	known := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(known), v1alpha1.AddToScheme(known)); err != nil {
		t.Fatal(err)
	}
	thief, err := client.New(operator(t), client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{hosted.LabelHostedCluster: "uid"}
	secret := func(namespace, name string, labels map[string]string, kind corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Type: kind}
	}
	binding := func(name, uses string, labels map[string]string) *v1alpha1.ClusterBinding {
		return &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: v1alpha1.ClusterBindingSpec{
			ClusterID: name, KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: uses}}}
	}
	for _, object := range []client.Object{
		secret(managerNamespace, "eu", nil, ""), secret(operatorNamespace, "aws", nil, ""), secret("default", "password", nil, ""), binding("eu", "eu", nil),
	} {
		if err := consumer.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	patch := func(object client.Object, content string) func(context.Context) error {
		return func(ctx context.Context) error {
			return thief.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(content)))
		}
	}
	create := func(object client.Object) func(context.Context) error {
		return func(ctx context.Context) error { return thief.Create(ctx, object, client.DryRunAll) }
	}
	remove := func(object client.Object) func(context.Context) error {
		return func(ctx context.Context) error { return thief.Delete(ctx, object) }
	}
	const policy, rbac = "must have the label hosted.spillway.io/cluster", "is forbidden"
	tries := map[string]struct {
		try  func(context.Context) error
		want string
	}{
		"a Secret without the label":           {create(secret(managerNamespace, "hosted-x", nil, "")), policy},
		"changing another Secret":              {patch(secret(managerNamespace, "eu", nil, ""), `{"data":{"kubeconfig":"eA=="}}`), policy},
		"taking another Secret over":           {patch(secret(managerNamespace, "eu", nil, ""), `{"metadata":{"labels":{"hosted.spillway.io/cluster":"uid"}}}`), policy},
		"deleting another Secret":              {remove(secret(managerNamespace, "eu", nil, "")), policy},
		"a Secret with another name":           {create(secret(managerNamespace, "x", ours, "")), "must begin with hosted-"},
		"a token with which nodes join":        {create(secret(managerNamespace, "hosted-x", ours, corev1.SecretTypeBootstrapToken)), "must begin with hosted-"},
		"a ClusterBinding without the label":   {create(binding("x", "hosted-x", nil)), policy},
		"a ClusterBinding with another Secret": {create(binding("x", "eu", ours)), "must begin with hosted-"},
		"changing another ClusterBinding":      {patch(binding("eu", "", nil), `{"spec":{"paused":true}}`), policy},
		"deleting another ClusterBinding":      {remove(binding("eu", "", nil)), policy},
		"listing the Secrets of the manager": {func(ctx context.Context) error {
			return thief.List(ctx, &corev1.SecretList{}, client.InNamespace(managerNamespace))
		}, rbac},
		"reading a Secret of somebody else": {func(ctx context.Context) error {
			return thief.Get(ctx, client.ObjectKey{Namespace: "default", Name: "password"}, &corev1.Secret{})
		}, rbac},
		"changing the credentials for a cloud":     {patch(secret(operatorNamespace, "aws", nil, ""), `{"data":{"a":"eA=="}}`), rbac},
		"listing ClusterBindings":                  {func(ctx context.Context) error { return thief.List(ctx, &v1alpha1.ClusterBindingList{}) }, rbac},
		"a namespace":                              {create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), rbac},
		"and what it is there for: a Secret":       {create(secret(managerNamespace, "hosted-x", ours, "")), ""},
		"and what it is there for: ClusterBinding": {create(binding("x", "hosted-x", ours)), ""},
	}
	for name, test := range tries {
		t.Run(name, func(t *testing.T) {
			var last error
			// An API server applies a policy a moment after the write.
			err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
				last = test.try(ctx)
				return test.want == "" && last == nil || test.want != "" && last != nil && strings.Contains(last.Error(), test.want), nil
			})
			if err != nil {
				t.Errorf("got %v, want %q", last, test.want)
			}
		})
	}
}
