package admission

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// leaseOf is a Lease with labels, in the namespace of the consumers' Leases.
func leaseOf(labels map[string]string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: "lease", Labels: labels}}
}

// TestConsumerLeases tests two consumers with the same rights.
func TestConsumerLeases(t *testing.T) {
	consumer := inProvider(t)
	other := server(t).consumer(t, "other-consumer")
	temporary(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: "other-leases"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "spillway-consumer-leases"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: v1alpha1.ProviderNamespace, Name: "other-consumer"}},
	})
	becomes(t, other, leaseOf(markOf("other-consumer")), "")
	const foreign, unlabelled = "may not write a Lease of another account", "lacks the labels"
	theirs, unmarked := leaseOf(markOf(shippedAccount)), leaseOf(nil)
	theirs.Name, unmarked.Name = "theirs", "unmarked"
	if err := consumer.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	temporary(t, unmarked)
	const renewal = `{"spec":{"holderIdentity":"me"}}`
	attempt(t, map[string]try{
		"make its own":                      {creating(consumer, leaseOf(markOf(shippedAccount))), ""},
		"make one for another account":      {creating(consumer, leaseOf(markOf("other-consumer"))), foreign},
		"make one for no account":           {creating(consumer, leaseOf(markOf(""))), foreign},
		"make one without the mark":         {creating(consumer, leaseOf(map[string]string{v1alpha1.LabelAccount: shippedAccount})), unlabelled},
		"renew its own":                     {patching(consumer, theirs, renewal), ""},
		"renew another's":                   {patching(other, theirs, renewal), foreign},
		"renew one that is nobody's":        {patching(consumer, unmarked, renewal), unlabelled},
		"make another's its own":            {patching(other, theirs, `{"metadata":{"labels":{"spillway.io/account":"other-consumer"}}}`), foreign},
		"make one its own that is nobody's": {patching(consumer, unmarked, `{"metadata":{"labels":{"spillway.io/managed-by":"spillway","spillway.io/origin":"o","spillway.io/binding":"b","spillway.io/account":"spillway-consumer"}}}`), unlabelled},
		"hand its own on":                   {patching(consumer, theirs, `{"metadata":{"labels":{"spillway.io/account":"other-consumer"}}}`), "must not change"},
		"hand its own on to another origin": {patching(consumer, theirs, `{"metadata":{"labels":{"spillway.io/origin":"x"}}}`), "must not change"},
		"delete its own":                    {deleting(consumer, theirs), ""},
		"delete another's":                  {deleting(other, theirs), foreign},
		"delete one that is nobody's":       {deleting(consumer, unmarked), unlabelled},
	})
}
