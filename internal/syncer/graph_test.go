package syncer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/syncer/synctest"
)

// TestOutdated: a running pod finds out about a refused change of what it uses, in
// its place, and of nothing else.
func TestOutdated(t *testing.T) {
	rig := synctest.New()
	g := &graph{
		needed: map[string]needed{"configmap": &kindController[*corev1.ConfigMap]{refusals: rig.Refusals}},
		near:   func(at decide.Place, _ string) decide.Place { return at },
	}
	here := decide.Place{Target: fixture.Target, Local: "team", Open: true}
	refs := []decide.Ref{{Kind: "configmap", NamespacedName: types.NamespacedName{Namespace: "team", Name: "settings"}}}
	if g.AnyRefused() || g.Outdated(refs, here) != nil {
		t.Error("nothing is refused")
	}
	s := fixture.Wanted(fixture.Local(), fixture.Remote())
	rig.Refusals.Note(s, decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}, decide.Problem{Reason: "DeletionFailed", Message: "no"})
	if g.Outdated(refs, here) != nil {
		t.Error("a deletion is not told to what uses it no more")
	}
	rig.Refusals.Note(s, decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote()}, decide.Problem{Reason: "UpdateRejected", Message: "no"})
	want := &decide.Problem{Reason: "UpdateRejected", Message: "ConfigMap team/settings: no"}
	if diff := cmp.Diff(want, g.Outdated(refs, here)); diff != "" || !g.AnyRefused() {
		t.Errorf("outdated (-want +got):\n%s", diff)
	}
	elsewhere := here
	elsewhere.Namespace = "mount"
	if g.Outdated(refs, elsewhere) != nil {
		t.Error("it is not about the copy in another namespace")
	}
}
