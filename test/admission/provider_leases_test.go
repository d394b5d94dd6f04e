package admission

import (
	"context"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// leaseOf is a Lease with labels, where those of consumers are.
func leaseOf(labels map[string]string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: "lease", Labels: labels}}
}

// of are the labels of a Lease of an account.
func of(account string) map[string]string { return markBut(v1alpha1.LabelAccount, account) }

// TestConsumerLeases is about two consumers that have the same rights.
func TestConsumerLeases(t *testing.T) {
	consumer := inProvider(t)
	other := accountClient(t, "other-consumer")
	binding := made(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: "other-leases"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "spillway-consumer-leases"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: v1alpha1.ProviderNamespace, Name: "other-consumer"}},
	})
	t.Cleanup(func() { _ = server.Delete(context.Background(), binding) })
	const foreign = "may touch no Lease of another one"
	create := func(c client.Client, labels map[string]string) func(context.Context) error {
		return func(ctx context.Context) error { return c.Create(ctx, leaseOf(labels), client.DryRunAll) }
	}
	theirs := leaseOf(of("spillway-consumer"))
	theirs.Name = "theirs"
	if err := consumer.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	unmarked := leaseOf(nil)
	unmarked.Name = "unmarked"
	if err := server.Create(t.Context(), unmarked); err != nil {
		t.Fatal(err)
	}
	change := func(c client.Client, lease *coordinationv1.Lease, patch string) func(context.Context) error {
		return func(ctx context.Context) error {
			return c.Patch(ctx, lease.DeepCopy(), merge(patch), client.DryRunAll)
		}
	}
	const renewal = `{"spec":{"holderIdentity":"me"}}`
	for name, test := range map[string]struct {
		try  func(context.Context) error
		want string
	}{
		"make its own":                      {create(consumer, of("spillway-consumer")), ""},
		"make one for another account":      {create(consumer, of("other-consumer")), foreign},
		"make one for no account":           {create(consumer, of("")), foreign},
		"make one without the mark":         {create(consumer, map[string]string{v1alpha1.LabelAccount: "spillway-consumer"}), "does not carry the labels"},
		"renew its own":                     {change(consumer, theirs, renewal), ""},
		"renew another's":                   {change(other, theirs, renewal), foreign},
		"renew one that is nobody's":        {change(consumer, unmarked, renewal), "does not carry the labels"},
		"make another's its own":            {change(other, theirs, `{"metadata":{"labels":{"spillway.io/account":"other-consumer"}}}`), foreign},
		"make one its own that is nobody's": {change(consumer, unmarked, `{"metadata":{"labels":{"spillway.io/managed-by":"spillway","spillway.io/origin":"o","spillway.io/binding":"b","spillway.io/account":"spillway-consumer"}}}`), "does not carry the labels"},
		"hand its own on":                   {change(consumer, theirs, `{"metadata":{"labels":{"spillway.io/account":"other-consumer"}}}`), "must stay as they are"},
		"hand its own on to another origin": {change(consumer, theirs, `{"metadata":{"labels":{"spillway.io/origin":"x"}}}`), "must stay as they are"},
		"delete its own":                    {func(ctx context.Context) error { return consumer.Delete(ctx, theirs.DeepCopy(), client.DryRunAll) }, ""},
		"delete another's":                  {func(ctx context.Context) error { return other.Delete(ctx, theirs.DeepCopy(), client.DryRunAll) }, foreign},
		"delete one that is nobody's":       {func(ctx context.Context) error { return consumer.Delete(ctx, unmarked.DeepCopy(), client.DryRunAll) }, "does not carry the labels"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, test.try(t.Context()), test.want) })
	}
}
