package crash

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/performance/rig"
)

func (c *crash) namespaces(t *testing.T, provider *rig.Cluster) []corev1.Namespace {
	t.Helper()
	var list corev1.NamespaceList
	if err := provider.Admin.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (c *crash) versions(t *testing.T) map[string]string {
	t.Helper()
	versions, err := c.Versions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// marked returns the namespaces of a provider that have our mark.
func (c *crash) marked(t *testing.T, provider *rig.Cluster) []corev1.Namespace {
	t.Helper()
	namespaces, err := c.Marked(t.Context(), provider)
	if err != nil {
		t.Fatal(err)
	}
	return namespaces
}

// marks counts the namespaces of all providers that have our mark.
func (c *crash) marks(t *testing.T) int {
	t.Helper()
	total := 0
	for _, provider := range c.Providers {
		total += len(c.marked(t, provider))
	}
	return total
}

// check compares all namespaces of providers with the expected ones: those that existed before the test, and
// one for each of the first n local namespaces.
func (c *crash) check(t *testing.T, n int, of ...*rig.Cluster) {
	t.Helper()
	origin, err := c.Origin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type remote struct{ Local, LocalUID, Origin, Binding string }
	for _, provider := range of {
		want, got := map[string]remote{}, map[string]remote{}
		for _, namespace := range c.foreign[provider.ID] {
			want[namespace.Name] = remote{}
		}
		for i := range n {
			local := rig.Namespace(i).GetName()
			want[local+"-"+consumerID] = remote{local, c.locals[local], origin, provider.ID}
		}
		for _, namespace := range c.namespaces(t, provider) {
			if c.isForeign(provider, namespace.Name) {
				got[namespace.Name] = remote{} // See untouched.
				continue
			}
			local := provenance.LocalOf(&namespace)
			got[namespace.Name] = remote{local.Namespace, string(local.UID), namespace.Labels[v1alpha1.LabelOrigin], namespace.Labels[v1alpha1.LabelBinding]}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("namespaces of provider %s (-want +got):\n%s", provider.ID, diff)
		}
	}
}

func (c *crash) isForeign(provider *rig.Cluster, name string) bool {
	for i := range c.foreign[provider.ID] {
		if c.foreign[provider.ID][i].Name == name {
			return true
		}
	}
	return false
}

// untouched checks that nothing has happened to the namespaces that are not Spillway's.
func (c *crash) untouched(t *testing.T) {
	for _, violation := range c.ledger.wrong() {
		t.Error(violation)
	}
	for _, provider := range c.Providers {
		is := map[string]corev1.Namespace{}
		for _, namespace := range c.namespaces(t, provider) {
			is[namespace.Name] = namespace
		}
		for _, was := range c.foreign[provider.ID] {
			if diff := cmp.Diff(was, is[was.Name]); diff != "" {
				t.Errorf("namespace %s in provider %s, which is not Spillway's (-before +after):\n%s", was.Name, provider.ID, diff)
			}
		}
	}
}
