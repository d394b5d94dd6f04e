package objects_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
)

var settings = types.NamespacedName{Namespace: "team", Name: "settings"}

func newer(m *corev1.ConfigMap) { m.ResourceVersion = "6" }

// TestLocalsWrote checks that a write is seen before the caches show it.
func TestLocalsWrote(t *testing.T) {
	unpinned, sent := fixture.Local(), fixture.Local(fixture.Sent)
	for name, test := range map[string]struct {
		selection kind.Selection
		has       *corev1.ConfigMap
		do        func(*objects.Locals[*corev1.ConfigMap])
		version   string // Empty if the object is gone.
		known     bool
	}{
		"pinned":                      {kind.Referenced, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.Expect(fixture.Local(fixture.Sent, newer)) }, "6", true},
		"unpinned":                    {kind.Referenced, sent, func(l *objects.Locals[*corev1.ConfigMap]) { l.Expect(fixture.Local(newer)) }, "6", false},
		"the last finalizer":          {kind.Referenced, sent, func(l *objects.Locals[*corev1.ConfigMap]) { l.Expect(fixture.Local(newer, fixture.Going)) }, "", false},
		"another finalizer":           {kind.Referenced, sent, func(l *objects.Locals[*corev1.ConfigMap]) { l.Expect(fixture.Local(newer, fixture.Going, held)) }, "6", false},
		"on the node":                 {kind.OnVirtualNode, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.Expect(fixture.Local(newer)) }, "6", true},
		"deleted at once":             {kind.OnVirtualNode, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.ExpectDeletion(unpinned, ptr.To[int64](0)) }, "", false},
		"deleted at once, and held":   {kind.OnVirtualNode, fixture.Local(held), func(l *objects.Locals[*corev1.ConfigMap]) { l.ExpectDeletion(fixture.Local(held), ptr.To[int64](0)) }, "5", true},
		"deleted, with no grace said": {kind.OnVirtualNode, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.ExpectDeletion(unpinned, nil) }, "5", true},
		"deleted, with grace":         {kind.OnVirtualNode, unpinned, func(l *objects.Locals[*corev1.ConfigMap]) { l.ExpectDeletion(unpinned, ptr.To[int64](30)) }, "5", true},
	} {
		t.Run(name, func(t *testing.T) {
			rig := enginetest.New()
			rig.Kind.Selection = test.selection
			rig.SharedCache.Has = []client.Object{test.has}
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
			if going := strings.HasPrefix(name, "deleted"); local != nil && local.DeletionTimestamp.IsZero() == going && test.selection == kind.OnVirtualNode {
				t.Errorf("it is being deleted since %v", local.DeletionTimestamp)
			}
			if ahead := rig.Locals.IsStale(settings); ahead != (test.selection == kind.OnVirtualNode || name == "pinned") {
				t.Errorf("something was written that the view will show: %t", ahead)
			}
		})
	}
}

func held(m *corev1.ConfigMap) { m.Finalizers = []string{"example.com/held"} }

// TestUnheld checks that Unprotected leaves out protected objects, which the view has.
func TestUnheld(t *testing.T) {
	rig := enginetest.New()
	other := fixture.Local(func(m *corev1.ConfigMap) { m.Name = "other" })
	rig.SharedCache.Has = []client.Object{fixture.Local(fixture.Sent), other}
	got, err := rig.Locals.Unprotected(t.Context(), "team")
	if diff := cmp.Diff([]types.NamespacedName{client.ObjectKeyFromObject(other)}, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
	rig.Kind.Selection = kind.OnVirtualNode
	if got, err = rig.Locals.Unprotected(t.Context(), "team"); len(got) > 0 || err != nil {
		t.Errorf("of a kind without a catalogue: %v, %v", got, err)
	}
}

// TestGet checks that the content comes from the view, unless the shared cache has a newer object.
func TestGet(t *testing.T) {
	type found struct {
		UID   types.UID
		Data  bool
		Known bool
		Err   bool
	}
	sent := func(options ...fixture.Option) *corev1.ConfigMap {
		return fixture.Local(append(options, fixture.Sent)...)
	}
	another := func(m *corev1.ConfigMap) { m.UID = "local-2" }
	stopped := errors.New("stopped")
	for name, test := range map[string]struct {
		selection          kind.Selection
		view, listed       *corev1.ConfigMap
		viewErr, listedErr error
		want               found
	}{
		"nothing":                     {kind.Referenced, nil, nil, nil, nil, found{}},
		"listed":                      {kind.Referenced, nil, fixture.Local(), nil, nil, found{UID: "local-1"}},
		"pinned":                      {kind.Referenced, sent(), sent(), nil, nil, found{UID: "local-1", Data: true, Known: true}},
		"the view is behind":          {kind.Referenced, sent(), sent(newer), nil, nil, found{UID: "local-1"}},
		"the view is ahead":           {kind.Referenced, sent(newer), sent(), nil, nil, found{UID: "local-1", Data: true, Known: true}},
		"the view has another one":    {kind.Referenced, sent(another), sent(), nil, nil, found{UID: "local-1"}},
		"it is not listed any more":   {kind.Referenced, sent(), nil, nil, nil, found{}},
		"the view has stopped":        {kind.Referenced, sent(), sent(), stopped, nil, found{Err: true}},
		"the catalogue has stopped":   {kind.Referenced, sent(), sent(), nil, stopped, found{Err: true}},
		"on the node":                 {kind.OnVirtualNode, fixture.Local(), nil, nil, nil, found{UID: "local-1", Data: true, Known: true}},
		"not on the node":             {kind.OnVirtualNode, nil, fixture.Local(), nil, nil, found{}},
		"on the node, and it stopped": {kind.OnVirtualNode, fixture.Local(), nil, stopped, nil, found{Err: true}},
	} {
		t.Run(name, func(t *testing.T) {
			rig := enginetest.New()
			rig.Kind.Selection = test.selection
			if test.view != nil {
				rig.View.Has = []client.Object{test.view}
			}
			if test.listed != nil {
				rig.SharedCache.Has = []client.Object{test.listed}
			}
			rig.View.Err, rig.SharedCache.Err = test.viewErr, test.listedErr
			local, known, err := rig.Locals.Get(t.Context(), settings)
			got := found{Known: known, Err: err != nil}
			if local != nil {
				got.UID, got.Data = local.UID, local.Data != nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestHeldIsInOrder checks the order of InView, so that each pass over it is the same.
func TestHeldIsInOrder(t *testing.T) {
	rig := enginetest.New()
	for _, name := range []string{"team/c", "team/a", "other/b", "team/b", "other/c"} {
		rig.View.Has = append(rig.View.Has, fixture.Local(func(m *corev1.ConfigMap) { m.Namespace, m.Name, _ = strings.Cut(name, "/") }))
	}
	for namespace, want := range map[string][]string{"team": {"team/a", "team/b", "team/c"}, "": {"other/b", "other/c", "team/a", "team/b", "team/c"}} {
		found, err := rig.Locals.InView(t.Context(), namespace)
		var got []string
		for _, m := range found {
			got = append(got, client.ObjectKeyFromObject(m).String())
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, (-want +got):\n%s", err, diff)
		}
	}
}

// TestStandIns checks that RemotesFor finds what the index has, and what was written but is not in the index yet.
func TestStandIns(t *testing.T) {
	rig := enginetest.New()
	place := decide.Destination{Target: fixture.Target, Local: "team", Open: true}
	find := func() []*corev1.ConfigMap {
		t.Helper()
		found, err := rig.Remotes.RemotesFor(t.Context(), settings, []decide.Destination{place})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := find(); len(found) > 0 {
		t.Fatalf("found %v", found)
	}
	if rig.Remotes.IsStale(types.NamespacedName{Namespace: "team-home", Name: "settings"}) {
		t.Error("something was written already")
	}
	rig.Provider.Indexes = map[string]client.IndexerFunc{objects.FieldLocal: func(client.Object) []string { return nil }}
	rig.Provider.Has = []client.Object{fixture.Remote(func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(m.Annotations, "spillway.io/local-name", "other")
	})}
	if found := find(); len(found) > 0 {
		t.Errorf("what stands for another one: %v", found)
	}
	rig.Provider.Has = nil
	rig.Remotes.Expect(fixture.Remote())
	if found := find(); len(found) != 1 || found[0].UID != "remote-1" {
		t.Errorf("of what was written: %v", found)
	}
	if !rig.Remotes.IsStale(types.NamespacedName{Namespace: "team-home", Name: "settings"}) {
		t.Error("the cache shows it already")
	}
	rig.Provider.Indexes = map[string]client.IndexerFunc{objects.FieldLocal: objects.IndexLocal(kind.InMappedNamespace)}
	elsewhere := fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace, m.UID = "left", "remote-2" })
	foreign := fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace, m.Labels = "theirs", nil })
	rig.Provider.Has = []client.Object{elsewhere, foreign}
	if found := find(); len(found) != 2 || found[1].UID != "remote-2" {
		t.Errorf("with what is elsewhere, and with another's: %v", found)
	}
	rig.Remotes.ExpectDeletion(elsewhere, ptr.To[int64](0))
	if found := find(); len(found) != 1 {
		t.Errorf("after a deletion: %v", found)
	}
	for namespace, want := range map[string]int{"": 3, settings.Namespace: 3, "another": 0} { // One is not shown yet.
		if keys, err := rig.Remotes.Locals(t.Context(), namespace); err != nil || len(keys) != want || want > 0 && keys[0] != settings {
			t.Errorf("of namespace %q they stand for %v, %v", namespace, keys, err)
		}
	}
}

// TestCachesThatHaveStopped checks that a stopped cache returns an error, not an empty answer.
func TestCachesThatHaveStopped(t *testing.T) {
	stopped := errors.New("stopped")
	rig := enginetest.New()
	rig.View.Err, rig.SharedCache.Err, rig.Provider.Err = stopped, stopped, stopped
	of := decide.Key{Kind: "secret", NamespacedName: settings}
	for what, ask := range map[string]func() error{
		"held":      func() error { _, err := rig.Locals.InView(t.Context(), "team"); return err },
		"needing":   func() error { _, err := rig.Locals.Needing(t.Context(), of); return err },
		"unheld":    func() error { _, err := rig.Locals.Unprotected(t.Context(), "team"); return err },
		"stand-ins": func() error { _, err := rig.Remotes.RemotesFor(t.Context(), settings, nil); return err },
		"locals":    func() error { _, err := rig.Remotes.Locals(t.Context(), ""); return err },
		"ask":       func() error { _, err := rig.Remotes.GetLive(t.Context(), settings); return err },
	} {
		if err := ask(); !errors.Is(err, stopped) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestNeedingAndAsk finds an object by what it needs, and by its name in the provider.
func TestNeedingAndAsk(t *testing.T) {
	rig := enginetest.New()
	of := decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: "team", Name: "key"}}
	rig.View.Has = []client.Object{fixture.Local()}
	rig.View.Indexes = map[string]client.IndexerFunc{objects.FieldNeeds: func(client.Object) []string { return []string{"secret/team/key"} }}
	if got, err := rig.Locals.Needing(t.Context(), of); err != nil || len(got) != 1 || got[0] != settings {
		t.Errorf("needing: %v, %v", got, err)
	}
	rig.Provider.Has = []client.Object{fixture.Remote()}
	if got, err := rig.Remotes.GetLive(t.Context(), client.ObjectKeyFromObject(fixture.Remote())); err != nil || got.UID != "remote-1" {
		t.Errorf("asked: %v, %v", got, err)
	}
}
