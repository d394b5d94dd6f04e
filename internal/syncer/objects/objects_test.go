package objects_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/syncer/objects"
	"github.com/spillway-io/spillway/internal/syncer/synctest"
)

var settings = types.NamespacedName{Namespace: "team", Name: "settings"}

func newer(m *corev1.ConfigMap) { m.ResourceVersion = "6" }

// TestLocalsWrote: what was written is seen before the caches show it.
func TestLocalsWrote(t *testing.T) {
	unpinned, sent := fixture.Local(), fixture.Local(fixture.Sent)
	for name, test := range map[string]struct {
		selection kind.Selection
		has       *corev1.ConfigMap
		do        func(*objects.Locals[*corev1.ConfigMap])
		version   string // Empty: it is gone.
		known     bool
	}{
		"pinned":              {kind.Referenced, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.Wrote(fixture.Local(fixture.Sent, newer)) }, "6", true},
		"unpinned":            {kind.Referenced, sent, func(l *objects.Locals[*corev1.ConfigMap]) { l.Wrote(fixture.Local(newer)) }, "6", false},
		"the last finalizer":  {kind.Referenced, sent, func(l *objects.Locals[*corev1.ConfigMap]) { l.Wrote(fixture.Local(newer, fixture.Going)) }, "", false},
		"another finalizer":   {kind.Referenced, sent, func(l *objects.Locals[*corev1.ConfigMap]) { l.Wrote(fixture.Local(newer, fixture.Going, held)) }, "6", false},
		"on the node":         {kind.OnVirtualNode, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.Wrote(fixture.Local(newer)) }, "6", true},
		"deleted at once":     {kind.OnVirtualNode, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.Deleted(unpinned, ptr.To[int64](0)) }, "", false},
		"deleted, with grace": {kind.OnVirtualNode, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.Deleted(unpinned, ptr.To[int64](30)) }, "5", true},
	} {
		t.Run(name, func(t *testing.T) {
			rig := synctest.New()
			rig.Kind.Selection = test.selection
			rig.Catalogue.Has = []client.Object{test.has}
			if len(test.has.Labels) > 0 || test.selection == kind.OnVirtualNode {
				rig.View.Has = []client.Object{test.has}
			}
			test.do(rig.Locals)
			local, known, err := rig.Locals.Get(t.Context(), settings)
			if err != nil {
				t.Fatal(err)
			}
			version := ""
			if local != nil {
				version = local.ResourceVersion
			}
			if version != test.version || known != test.known {
				t.Errorf("got version %q, known %t; want %q, %t", version, known, test.version, test.known)
			}
		})
	}
}

func held(m *corev1.ConfigMap) { m.Finalizers = []string{"example.com/held"} }

// TestUnheld: the catalogue's objects that are pinned are the view's.
func TestUnheld(t *testing.T) {
	rig := synctest.New()
	other := fixture.Local(func(m *corev1.ConfigMap) { m.Name = "other" })
	rig.Catalogue.Has = []client.Object{fixture.Local(fixture.Sent), other}
	got, err := rig.Locals.Unheld(t.Context(), "team")
	if diff := cmp.Diff([]types.NamespacedName{client.ObjectKeyFromObject(other)}, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	rig.Kind.Selection = kind.OnVirtualNode
	if got, err = rig.Locals.Unheld(t.Context(), "team"); len(got) > 0 || err != nil {
		t.Errorf("of a kind without a catalogue: %v, %v", got, err)
	}
}

// TestHeldIsInOrder, so that the passes over it are the same each time.
func TestHeldIsInOrder(t *testing.T) {
	rig := synctest.New()
	for _, name := range []string{"c", "a", "b"} {
		rig.View.Has = append(rig.View.Has, fixture.Local(func(m *corev1.ConfigMap) { m.Name = name }))
	}
	got, err := rig.Locals.Held(t.Context(), "team")
	byName := func(a, b *corev1.ConfigMap) int { return slices.Compare([]string{a.Name}, []string{b.Name}) }
	if err != nil || len(got) != 3 || !slices.IsSortedFunc(got, byName) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestStandIns finds what the index has, and what was written and it does not have yet.
func TestStandIns(t *testing.T) {
	rig := synctest.New()
	place := decide.Place{Target: fixture.Target, Local: "team", Open: true}
	find := func() []*corev1.ConfigMap {
		t.Helper()
		found, err := rig.Remotes.StandIns(t.Context(), settings, []decide.Place{place})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := find(); len(found) > 0 {
		t.Fatalf("found %v", found)
	}
	rig.Remotes.Wrote(fixture.Remote())
	if found := find(); len(found) != 1 || found[0].UID != "remote-1" {
		t.Errorf("of what was written: %v", found)
	}
	if !rig.Remotes.Ahead(types.NamespacedName{Namespace: "team-home", Name: "settings"}) {
		t.Error("the cache shows it already")
	}
	rig.Provider.Indexes = map[string]client.IndexerFunc{objects.FieldLocal: func(obj client.Object) []string { return []string{objects.LocalKey(obj).String()} }}
	elsewhere := fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace, m.UID = "left", "remote-2" })
	foreign := fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace, m.Labels = "theirs", nil })
	rig.Provider.Has = []client.Object{elsewhere, foreign}
	if found := find(); len(found) != 2 || found[1].UID != "remote-2" {
		t.Errorf("with what is elsewhere, and with another's: %v", found)
	}
	rig.Remotes.Deleted(elsewhere, ptr.To[int64](0))
	if found := find(); len(found) != 1 {
		t.Errorf("after a deletion: %v", found)
	}
	if keys, err := rig.Remotes.Locals(t.Context()); err != nil || len(keys) != 2 || keys[0] != settings {
		t.Errorf("stand for %v, %v", keys, err)
	}
}
