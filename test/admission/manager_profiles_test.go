package admission

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// TestManagerClusterProfiles compares the rights that spillway-cluster-profiles adds, where an administrator binds it, with
// what the manager needs. Elsewhere the manager has no right to ClusterProfiles.
func TestManagerClusterProfiles(t *testing.T) {
	manager := inConsumer(t)
	granted, elsewhere := namespaceOf(t, nil), namespaceOf(t, nil)
	temporary(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: granted, Name: "spillway-cluster-profiles"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-cluster-profiles"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "spillway-system", Name: "spillway-manager"}},
	})
	without := rights(t, manager, elsewhere)
	err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		may := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: granted, Verb: "get", Group: "multicluster.x-k8s.io", Resource: "clusterprofiles"}}}
		err := manager.Create(ctx, may)
		return may.Status.Allowed, err
	})
	if err != nil {
		t.Fatalf("waiting until the API server has taken up the RoleBinding: %v", err)
	}
	added := rights(t, manager, granted).Difference(without)
	const profiles = "multicluster.x-k8s.io/clusterprofiles"
	if diff := cmp.Diff([]string{"create " + profiles, "get " + profiles, "patch " + profiles + "/status"}, sets.List(added)); diff != "" {
		t.Errorf("the rights that it adds (-want +got):\n%s", diff)
	}
	for right := range without {
		if strings.Contains(right, "multicluster.x-k8s.io") || strings.Contains(right, "*") && !strings.Contains(right, " URL ") {
			t.Errorf("everywhere, the manager may %s", right)
		}
	}
}
