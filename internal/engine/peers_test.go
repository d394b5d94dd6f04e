package engine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestNamed checks that the namespaces are looked up once for each change of where they go, or of their labels.
func TestNamed(t *testing.T) {
	asked := 0
	w := enginetest.LocalNamespaces()
	w.Labels = func(string) (map[string]string, bool) { asked++; return nil, true }
	n := &namespaces{}
	n.mapping.Store(mapping.New(fixture.Mark, builder.Binding("eu").Obj(), builder.Map("eu").Accepted("team", "team-home").Obj(), w))
	expect := func(what string, peers, lookups int) {
		t.Helper()
		asked = 0
		if got := n.peerNamespaces(); len(got) != peers || asked != lookups {
			t.Errorf("%s: %d namespaces after %d lookups, want %d after %d", what, len(got), asked, peers, lookups)
		}
	}
	expect("at first", 2, 2)
	expect("again", 2, 0)
	n.remap(func(m *mapping.Mapping) *mapping.Mapping { return m.WithMap(builder.Map("eu").Obj()) })
	expect("another map", 1, 1)
	n.peers.forget()
	expect("other labels", 1, 1)
}

func TestSameLabels(t *testing.T) {
	ns := func(uid types.UID, labels map[string]string) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: uid, Labels: labels}}
	}
	a := map[string]string{"team": "a"}
	for name, test := range map[string]struct {
		before, after client.Object
		want          bool
	}{
		"the same":          {ns("1", a), ns("1", map[string]string{"team": "a"}), true},
		"others":            {ns("1", a), ns("1", nil), false},
		"another one":       {ns("1", a), ns("2", a), false},
		"a new one":         {nil, ns("1", a), false},
		"one that has gone": {ns("1", a), nil, false},
	} {
		if got := sameLabels(test.before, test.after); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
