package ui

import (
	"context"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/ui/view"
)

func ctxOf(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// member may read three kinds in one namespace, and nothing else.
func member(t *testing.T, namespace string, kinds ...rbacv1.PolicyRule) string {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "reader"}
	create(t, &rbacv1.Role{ObjectMeta: meta, Rules: kinds})
	create(t, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "bob"}},
	})
	return kubeconfig(t, "bob", namespace)
}

func read(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list", "watch"}}
}

// TestTeamMember: who may read one namespace sees that, learns which rights are missing, and gets not one byte about
// other namespaces. What happens in the namespace shows at once.
func TestTeamMember(t *testing.T) {
	provider(t, "eu", condition("Ready", "True", "Ready", ""))
	for _, team := range []string{"team-a", "team-b"} {
		namespace(t, team)
		offloading(t, team, false, "eu")
		pods(t, team, team+"-web", v1alpha1.VirtualNodePrefix+"eu", 2)
		pods(t, team, team+"-waits", "", 1)
	}
	bob := member(t, "team-a", read("", "pods", "events"), read(v1alpha1.GroupVersion.Group, "namespaceoffloadings"))
	p, leave := open(t, serve(t, "--kubeconfig", bob))
	got := p.until("two pods that run", func(p view.Page) bool {
		return p.Pods == view.Counts{Runs: 2, Waits: 1} && !strings.Contains(strings.Join(p.Notes, " "), "are being read")
	})
	if got.Namespace != "team-a" || len(got.Providers) != 1 || got.Providers[0].ID != "eu" || got.Providers[0].Name != "" || len(got.Providers[0].Nodes) != 0 {
		t.Errorf("the page is %+v", got)
	}
	want := []string{
		"only namespace team-a is shown: you lack the right to list pods in all namespaces; -n NAMESPACE shows another one",
		"ClusterBindings are not shown: you lack the right to list clusterbindings.offloading.spillway.io",
		"Nodes are not shown: you lack the right to list nodes",
		"HostedClusters are not shown: you lack the right to list hostedclusters.hosted.spillway.io",
	}
	if !slices.Equal(got.Notes, want) {
		t.Errorf("the notes are %q", got.Notes)
	}
	pods(t, "team-a", "late", v1alpha1.VirtualNodePrefix+"eu", 1)
	pods(t, "team-b", "later", v1alpha1.VirtualNodePrefix+"eu", 1)
	p.until("the third pod", func(p view.Page) bool { return p.Pods.Runs == 3 })

	var list view.List
	p.decode(p.ask("GET", "/api/pods?state=waits", ""), &list)
	if list.Total != 1 || list.Rows[0].Pod != "team-a-waits-00" || !strings.Contains(list.Rows[0].Waits[len(list.Rows[0].Waits)-1].String(), noRoom) {
		t.Errorf("what waits is %+v", list)
	}
	var said struct{ explain.Explanation }
	p.decode(p.ask("GET", "/api/pod?namespace=team-a&name=team-a-waits-00", ""), &said)
	if said.Pod != "team-a-waits-00" || len(said.Where) == 0 || !slices.Equal(said.Waits, list.Rows[0].Waits) {
		t.Errorf("explained is %+v, listed was %+v", said, list.Rows[0].Waits)
	}
	if answer := p.request(t.Context(), "GET", "/api/pod?namespace=team-b&name=team-b-waits-00", ""); answer.StatusCode != 404 {
		t.Errorf("a pod of another team: %d", answer.StatusCode)
	}
	if all := p.got(); strings.Contains(all, "team-b") || strings.Contains(all, "canary") {
		t.Error("the page got something about another namespace, or the value of a variable")
	}
	leave()
}

// bobMayList waits until the API server knows whether bob may list the pods of a namespace.
func bobMayList(t *testing.T, namespace string, may bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "bob", ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Resource: "pods"},
		}}
		if err := server.Create(ctx, review); err != nil {
			t.Fatalf("whether bob may list pods: %v", err)
		}
		if review.Status.Allowed == may {
			return
		}
	}
}

// TestFewerRights: without the right to read pods there is still a page.
func TestFewerRights(t *testing.T) {
	namespace(t, "team-c")
	offloading(t, "team-c", false, "eu")
	p, _ := open(t, serve(t, "--kubeconfig", member(t, "team-c", read(v1alpha1.GroupVersion.Group, "namespaceoffloadings")), "-n", "team-c"))
	got := p.until("the provider", func(p view.Page) bool { return len(p.Providers) == 1 })
	if want := "Pods are not shown: you lack the right to list pods in namespace team-c"; !slices.Contains(got.Notes, want) || got.Providers[0].Namespaces[0].Name != "team-c" {
		t.Errorf("the page is %+v", got)
	}
}

// TestRightsChange: what the user may read since shows when a page is loaded again, and what the user may not read any more
// goes, with what the page remembers of it.
func TestRightsChange(t *testing.T) {
	namespace(t, "team-f")
	offloading(t, "team-f", false, "eu")
	pods(t, "team-f", "web", v1alpha1.VirtualNodePrefix+"eu", 2)
	const note = "Pods are not shown: you lack the right to list pods in namespace team-f"
	address := serve(t, "--kubeconfig", member(t, "team-f", read(v1alpha1.GroupVersion.Group, "namespaceoffloadings")), "-n", "team-f")
	p, _ := open(t, address)
	p.until("no pods", func(p view.Page) bool { return slices.Contains(p.Notes, note) })
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "team-f", Name: "reader"}}
	again := func(rules ...rbacv1.PolicyRule) {
		role.ResourceVersion, role.Rules = "", append([]rbacv1.PolicyRule{read(v1alpha1.GroupVersion.Group, "namespaceoffloadings")}, rules...)
		if err := server.Update(ctxOf(t), role); err != nil {
			t.Fatal(err)
		}
		bobMayList(t, "team-f", len(rules) > 0)
		(&page{T: t, origin: p.origin, key: p.key, pages: make(chan view.Page, 1000)}).stream()
	}
	again(read("", "pods"))
	p.until("two pods", func(p view.Page) bool { return p.Pods.Runs == 2 && !slices.Contains(p.Notes, note) })
	again()
	p.until("no pods any more", func(p view.Page) bool { return p.Pods.Runs == 0 && slices.Contains(p.Notes, note) })
}
