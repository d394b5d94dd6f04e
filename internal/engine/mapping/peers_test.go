package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestPeers checks that a policy in the provider can name the consumer's namespaces that exist there, and
// those that both clusters have.
func TestPeers(t *testing.T) {
	w := testWorld
	w.Labels = func(namespace string) (map[string]string, bool) {
		return map[string]string{"of": namespace}, namespace != "gone"
	}
	shares := func(names ...v1alpha1.SharedNamespace) *v1alpha1.ClusterBinding {
		binding := builder.Binding("eu").Obj()
		binding.Spec.Network.SharedNamespaces = names
		return binding
	}
	of := func(local, remote string, shared bool) decide.PeerNamespace {
		return decide.PeerNamespace{Labels: map[string]string{"of": local}, Remote: remote, Shared: shared}
	}
	dns := of("kube-system", "kube-system", true)
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		nsm     *v1alpha1.NamespaceMap
		want    []decide.PeerNamespace
	}{
		"no map":                     {shares(), nil, []decide.PeerNamespace{dns}},
		"mapped":                     {shares(), builder.Map("eu").Accepted("team", "team-home").Obj(), []decide.PeerNamespace{dns, of("team", "team-home", false)}},
		"not there yet":              {shares(), builder.Map("eu").Desired("team", "team-home").Obj(), []decide.PeerNamespace{dns}},
		"going":                      {shares(), builder.Map("eu").Current("team", "team-home", v1alpha1.MappingTerminating, "", "").Obj(), []decide.PeerNamespace{dns}},
		"gone here":                  {shares(), builder.Map("eu").Accepted("gone", "gone-home").Obj(), []decide.PeerNamespace{dns}},
		"shared":                     {shares("monitoring", "kube-system"), builder.Map("eu").Obj(), []decide.PeerNamespace{dns, of("monitoring", "monitoring", true)}},
		"shared, not here":           {shares("gone"), builder.Map("eu").Obj(), []decide.PeerNamespace{dns}},
		"shared, and taken":          {shares("team"), builder.Map("eu").Accepted("other", "team").Obj(), []decide.PeerNamespace{dns, of("other", "team", false)}},
		"shared, and to be taken":    {shares("team"), builder.Map("eu").Desired("other", "team").Obj(), []decide.PeerNamespace{dns}},
		"shared, and still taken":    {shares("team"), builder.Map("eu").Current("other", "team", v1alpha1.MappingTerminating, "", "").Obj(), []decide.PeerNamespace{dns}},
		"the mount namespace's name": {builder.Binding("eu").MountNamespace("mount").Obj(), builder.Map("eu").Accepted("team", "mount").Obj(), []decide.PeerNamespace{dns}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, New(fixture.Mark, test.binding, test.nsm, w).Peers()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	m := New(fixture.Mark, shares("monitoring"), builder.Map("eu").Desired("team", "team-home").Current("left", "left-home", v1alpha1.MappingTerminating, "", "").Obj(), w)
	for namespace, want := range map[string]bool{"team": true, "left": true, "monitoring": true, "kube-system": true, "other": false, "team-home": false} {
		if got := m.IsPeer(namespace); got != want {
			t.Errorf("the labels of %s matter: %t", namespace, got)
		}
	}
}
