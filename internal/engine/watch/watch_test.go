package watch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/engine/work"
)

// transcript records what is enqueued.
type transcript struct {
	lines   []string
	needing []decide.Key
}

func (t *transcript) Enqueue(priority int, keys ...decide.Key) {
	for _, key := range keys {
		line := strings.TrimPrefix(key.String(), "configmap/")
		if priority == work.Urgent {
			line = "urgent " + line
		}
		t.lines = append(t.lines, line)
	}
}

func (t *transcript) Referers(context.Context, decide.Key) ([]decide.Key, error) {
	return t.needing, nil
}

// needs returns the Secret that the ConfigMap's data names.
func needs(m *corev1.ConfigMap) []decide.Ref {
	var refs []decide.Ref
	for name := range m.Data {
		refs = append(refs, decide.Ref{Key: decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: m.Namespace, Name: name}}, Optional: m.Labels["tier"] != ""})
	}
	return refs
}

func watcher(rig *enginetest.Rig, said *transcript) *Watcher[*corev1.ConfigMap] {
	rig.Provider.Indexes = map[string]client.IndexerFunc{objects.FieldLocal: objects.IndexLocal(kind.InMappedNamespace)}
	return &Watcher[*corev1.ConfigMap]{
		Kind: rig.Kind, ClusterID: "eu", Locals: rig.Locals, Remotes: rig.Remotes, Uses: said, Attempts: rig.Attempts, Queue: said,
		Concerns: func(namespace string) bool { return namespace == "team" },
	}
}

// TestChanges compares what a change enqueues with the lists below.
func TestChanges(t *testing.T) {
	tier := func(m *corev1.ConfigMap) { m.Labels = decide.With(m.Labels, "tier", "web") }
	elsewhere := func(m *corev1.ConfigMap) { m.Namespace = "team-b" }
	byPods := []decide.Key{{Kind: "pod", NamespacedName: types.NamespacedName{Namespace: "team", Name: "web"}}}
	for name, test := range map[string]struct {
		selection kind.Selection
		side      string
		change    informer.Change
		needing   []decide.Key
		want      []string
	}{
		"an object that is held comes":       {kind.Referenced, "held", informer.Change{After: fixture.Local()}, nil, []string{"secret/team/a", "team/settings"}},
		"it goes":                            {kind.Referenced, "held", informer.Change{Before: fixture.Local()}, nil, []string{"secret/team/a", "team/settings"}},
		"it needs something else":            {kind.Referenced, "held", informer.Change{Before: fixture.Local(), After: fixture.Local(fixture.Data("b", ""))}, nil, []string{"secret/team/a", "secret/team/b", "team/settings"}},
		"it needs the same":                  {kind.Referenced, "held", informer.Change{Before: fixture.Local(), After: fixture.Local(tier)}, nil, []string{"team/settings"}},
		"its copies are elsewhere":           {kind.Referenced, "held", informer.Change{Before: fixture.Local(), After: fixture.Local(fixture.Sent)}, nil, []string{"secret/team/a", "team/settings"}},
		"its copies of another provider are": {kind.Referenced, "held", informer.Change{Before: fixture.Local(), After: fixture.Local(fixture.SentTo("us", "x/y"))}, nil, []string{"team/settings"}},
		"one on the node is annotated":       {kind.OnVirtualNode, "held", informer.Change{Before: fixture.Local(), After: fixture.Local(fixture.Sent)}, nil, []string{"team/settings"}},
		"one that nothing needs is listed":   {kind.Referenced, "listed", informer.Change{After: fixture.Local()}, nil, nil},
		"one that pods need is listed":       {kind.Referenced, "listed", informer.Change{After: fixture.Local()}, byPods, []string{"pod/team/web", "team/settings"}},
		"one that pods need has changed":     {kind.Referenced, "listed", informer.Change{Before: fixture.Local(), After: fixture.Local(tier)}, byPods, []string{"team/settings"}},
		"one that pods need is gone":         {kind.Referenced, "listed", informer.Change{Before: fixture.Local()}, byPods, []string{"pod/team/web", "team/settings"}},
		"one that is pinned is listed":       {kind.Referenced, "listed", informer.Change{After: fixture.Local(fixture.Sent)}, byPods, []string{"team/settings"}},
		"one of a mapped namespace":          {kind.InMappedNamespace, "held", informer.Change{After: fixture.Local()}, nil, []string{"secret/team/a", "team/settings"}},
		"one of a mapped namespace goes":     {kind.InMappedNamespace, "held", informer.Change{Before: fixture.Local()}, nil, []string{"secret/team/a", "team/settings"}},
		"one of another":                     {kind.InMappedNamespace, "held", informer.Change{After: fixture.Local(elsewhere)}, nil, nil},
		"a copy for one of another":          {kind.InMappedNamespace, "remote", informer.Change{After: fixture.Remote()}, nil, []string{"team/settings"}},
		"a copy comes":                       {kind.Referenced, "remote", informer.Change{After: fixture.Remote()}, nil, []string{"team/settings"}},
		"a copy stands for another one now":  {kind.Referenced, "remote", informer.Change{Before: fixture.Remote(), After: fixture.Remote(standsFor("more"))}, nil, []string{"team/more", "team/settings"}},
		"a copy that may be refused goes":    {kind.InMappedNamespace, "remote", informer.Change{Before: fixture.Remote()}, nil, []string{"secret/team/a", "team/settings"}},
		"one of a pod goes":                  {kind.OnVirtualNode, "remote", informer.Change{Before: fixture.Remote()}, nil, []string{"team/settings"}},
		"its own write":                      {kind.OnVirtualNode, "held", informer.Change{Before: fixture.Local(), After: fixture.Local(fixture.Data("b", "")), Own: true}, nil, []string{"secret/team/a", "secret/team/b"}},
		"its own mark":                       {kind.Referenced, "listed", informer.Change{Before: fixture.Local(), After: fixture.Local(fixture.Sent), Own: true}, byPods, nil},
		"its own copy":                       {kind.OnVirtualNode, "remote", informer.Change{After: fixture.Remote(), Own: true}, nil, nil},
		"users wait for the change":          {kind.Referenced, "remote", informer.Change{Before: fixture.Remote(), After: fixture.Remote(fixture.Data("urgent", "x"))}, nil, []string{"urgent team/settings"}},
	} {
		t.Run(name, func(t *testing.T) {
			rig, said := enginetest.New(), &transcript{needing: test.needing}
			rig.Kind.Selection, rig.Kind.Needs = test.selection, needs
			rig.Kind.Accepts = func(*corev1.ConfigMap, decide.Inputs) (accepted, known bool) { return false, true }
			rig.Kind.Urgent = func(_, after *corev1.ConfigMap) bool { return after != nil && after.Data["urgent"] != "" }
			w := watcher(rig, said)
			switch test.side {
			case "held":
				w.onLocal(test.change)
			case "listed":
				w.onListed(t.Context(), test.change)
			case "remote":
				rig.View.Has = []client.Object{fixture.Local()}
				w.onRemote(t.Context(), test.change)
			}
			slices.Sort(said.lines)
			if diff := cmp.Diff(test.want, said.lines); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
}

func standsFor(name string) fixture.Option {
	return func(m *corev1.ConfigMap) {
		other := fixture.Local()
		other.Name = name
		copied, _ := fixture.Plain{}.Remote(other, fixture.Target, decide.Inputs{})
		m.Annotations = copied.Annotations
	}
}

// TestNeedsNothing checks that only the object itself is enqueued if its kind needs nothing.
func TestNeedsNothing(t *testing.T) {
	rig, said := enginetest.New(), &transcript{}
	w := watcher(rig, said)
	w.onLocal(informer.Change{After: fixture.Local()})
	rig.View.Has = []client.Object{fixture.Local()}
	w.EnqueueNamespace(t.Context(), "team")
	if diff := cmp.Diff([]string{"team/settings", "team/settings"}, said.lines); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
}

// TestUnshown checks when the consumer first failed to show a change in the provider, for kinds that ask for
// that.
func TestUnshown(t *testing.T) {
	changed := informer.Change{Before: fixture.Remote(), After: fixture.Remote(fixture.Data("a", "2"))}
	for name, test := range map[string]struct {
		change informer.Change
		asked  bool
		want   bool
	}{
		"it has changed":              {changed, true, true},
		"it has gone":                 {informer.Change{Before: fixture.Remote()}, true, true},
		"it has come":                 {informer.Change{After: fixture.Remote()}, true, false},
		"it has changed, nobody asks": {changed, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			rig := enginetest.New()
			if test.asked {
				rig.Kind.Done = func(fixture.ObjectState, decide.Action, time.Time) {}
			}
			watcher(rig, &transcript{}).onRemote(t.Context(), test.change)
			if got := !rig.Attempts.Get(types.NamespacedName{Namespace: "team", Name: "settings"}).RemoteChangedAt.IsZero(); got != test.want {
				t.Errorf("it is noted: %t", got)
			}
		})
	}
}

// stopped is a graph whose caches have stopped.
type stopped struct{}

func (stopped) Referers(context.Context, decide.Key) ([]decide.Key, error) {
	return []decide.Key{{Kind: "pod"}}, errors.New("stopped")
}

// TestCachesThatHaveStopped checks that stopped caches enqueue nothing and cause no panic.
func TestCachesThatHaveStopped(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(*enginetest.Rig, *Watcher[*corev1.ConfigMap])
		want []string
	}{
		"the view":       {func(r *enginetest.Rig, _ *Watcher[*corev1.ConfigMap]) { r.View.Err = errors.New("stopped") }, nil},
		"the provider's": {func(r *enginetest.Rig, _ *Watcher[*corev1.ConfigMap]) { r.Provider.Err = errors.New("stopped") }, []string{"team/pinned"}},
		"the catalogue":  {func(r *enginetest.Rig, _ *Watcher[*corev1.ConfigMap]) { r.SharedCache.Err = errors.New("stopped") }, []string{"team/pinned", "team/settings"}},
		"another kind's": {func(_ *enginetest.Rig, w *Watcher[*corev1.ConfigMap]) { w.Uses = stopped{} }, []string{"team/pinned", "team/settings"}},
	} {
		t.Run(name, func(t *testing.T) {
			rig, said := enginetest.New(), &transcript{}
			w := watcher(rig, said)
			rig.View.Has = []client.Object{fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) { m.Name = "pinned" })}
			rig.SharedCache.Has = []client.Object{fixture.Local()}
			rig.Provider.Has = []client.Object{fixture.Remote()}
			test.fail(rig, w)
			w.EnqueueNamespace(t.Context(), "")
			if diff := cmp.Diff(test.want, said.lines); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
	said := &transcript{}
	w := watcher(enginetest.New(), said)
	w.Uses = stopped{}
	w.onListed(t.Context(), informer.Change{After: fixture.Local()})
	if len(said.lines) > 0 {
		t.Errorf("enqueued: %s", said.lines)
	}
}

// TestEnqueueNamespace checks that the known objects of one namespace, or of all, are enqueued.
func TestEnqueueNamespace(t *testing.T) {
	here := func(name string, options ...fixture.Option) *corev1.ConfigMap {
		return fixture.Local(append(options, func(m *corev1.ConfigMap) { m.Name = name })...)
	}
	other := here("settings")
	other.Namespace = "team-b"
	for name, test := range map[string]struct {
		selection kind.Selection
		namespace string
		needing   []decide.Key
		want      []string
	}{
		"one":                {kind.Referenced, "team", nil, []string{"secret/team/a", "team/pinned"}},
		"one, and pods need": {kind.Referenced, "team", []decide.Key{{Kind: "pod"}}, []string{"secret/team/a", "team/pinned", "team/unpinned"}},
		"one that is mapped, and what is left": {kind.InMappedNamespace, "team", nil, []string{
			"secret/team/a", "secret/team/a", "team/pinned", "team/settings", "team/unpinned"}},
		"one that is not any more": {kind.InMappedNamespace, "team-b", nil, []string{"secret/team-b/a", "team-b/settings"}},
		"all that are mapped, and what is left": {kind.InMappedNamespace, "", nil, []string{
			"secret/team/a", "secret/team/a", "team/pinned", "team/settings", "team/unpinned"}},
		"all, and what is left": {kind.OnVirtualNode, "", nil, []string{"secret/team-b/a", "secret/team/a", "team-b/settings", "team/pinned", "team/settings"}},
	} {
		t.Run(name, func(t *testing.T) {
			rig, said := enginetest.New(), &transcript{needing: test.needing}
			rig.Kind.Selection, rig.Kind.Needs = test.selection, needs
			pinned := here("pinned", fixture.Sent)
			rig.View.Has = []client.Object{pinned, other}
			rig.SharedCache.Has = []client.Object{pinned, here("unpinned"), other}
			rig.Provider.Has = []client.Object{fixture.Remote()}
			if test.selection == kind.InMappedNamespace {
				rig.Shares()
			}
			watcher(rig, said).EnqueueNamespace(t.Context(), test.namespace)
			slices.Sort(said.lines)
			if diff := cmp.Diff(test.want, said.lines); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEnqueueNamespaceUnshown checks that objects are enqueued that were written and that the caches do not show
// yet: the change that shows them may enqueue nothing.
func TestEnqueueNamespaceUnshown(t *testing.T) {
	rig, said := enginetest.New(), &transcript{}
	rig.Kind.Selection = kind.InMappedNamespace
	rig.Shares()
	rig.Remotes.Expect(fixture.Remote())
	rig.Locals.Expect(fixture.Local(func(m *corev1.ConfigMap) { m.Name = "written" }))
	rig.Locals.Expect(fixture.Local(func(m *corev1.ConfigMap) { m.Namespace = "team-b" }))
	w := watcher(rig, said)
	w.EnqueueNamespace(t.Context(), "team")
	slices.Sort(said.lines)
	if diff := cmp.Diff([]string{"team/settings", "team/written"}, said.lines); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
}

// TestRecount checks that exactly the objects are enqueued for which a pod starts or stops counting.
func TestRecount(t *testing.T) {
	rig, said := enginetest.New(), &transcript{}
	rig.Shares()
	of := func(namespace, name, app string) *corev1.ConfigMap {
		return fixture.Local(fixture.Data("app", app), func(m *corev1.ConfigMap) { m.Namespace, m.Name = namespace, name })
	}
	rig.SharedCache.Has = []client.Object{of("team", "db", "db"), of("team", "web", "web"), of("team-b", "web", "web")}
	pod := func(namespace, app string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod", Labels: map[string]string{"app": app}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
	}
	going, unready := pod("team", "web"), pod("team", "web")
	going.DeletionTimestamp, unready.Status = &metav1.Time{Time: time.Unix(1, 0)}, corev1.PodStatus{}
	all := []string{"team/db", "team/web"}
	w := watcher(rig, said)
	w.Recount(t.Context(), nil, pod("team", "web"))
	if len(said.lines) > 0 {
		t.Errorf("a kind for which no pod counts: %s", said.lines)
	}
	rig.Kind.Counts = func(*corev1.ConfigMap) func(*corev1.Pod) bool { panic("that is for the reconcile") }
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		want          []string
	}{
		"it comes":                      {nil, pod("team", "web"), all},
		"it comes, and is not ready":    {nil, unready, nil},
		"it becomes ready":              {unready, pod("team", "web"), all},
		"it goes":                       {pod("team", "web"), nil, all},
		"it is deleted":                 {pod("team", "web"), going, all},
		"it goes after it was deleted":  {going, nil, nil},
		"it has other labels":           {pod("team", "web"), pod("team", "db"), all},
		"it counts as before":           {pod("team", "web"), pod("team", "web"), nil},
		"it has others, but is unready": {unready, going, nil},
		"it is of another namespace":    {nil, pod("team-b", "web"), nil},
	} {
		said.lines = nil
		w.Recount(t.Context(), test.before, test.after)
		if diff := cmp.Diff(test.want, said.lines); diff != "" {
			t.Errorf("%s: enqueued (-want +got):\n%s", name, diff)
		}
	}
	said.lines, rig.SharedCache.Err = nil, errors.New("stopped")
	w.Recount(t.Context(), nil, pod("team", "web"))
	if len(said.lines) > 0 {
		t.Errorf("a cache that has stopped: %s", said.lines)
	}
}

// TestEnqueuePeers checks that objects in mapped namespaces are enqueued if they name other namespaces.
func TestEnqueuePeers(t *testing.T) {
	rig, said := enginetest.New(), &transcript{}
	rig.Shares()
	plain, elsewhere := fixture.Local(func(m *corev1.ConfigMap) { m.Name = "plain" }), fixture.Local(fixture.Data("peers", "x"))
	elsewhere.Namespace = "team-b"
	rig.SharedCache.Has = []client.Object{plain, fixture.Local(fixture.Data("peers", "x")), elsewhere}
	w := watcher(rig, said)
	w.EnqueuePeers(t.Context())
	if len(said.lines) > 0 {
		t.Errorf("a kind that names none: %s", said.lines)
	}
	rig.Kind.NamesNamespaces = func(m *corev1.ConfigMap) bool { return m.Data["peers"] != "" }
	w.EnqueuePeers(t.Context())
	if diff := cmp.Diff([]string{"team/settings"}, said.lines); diff != "" {
		t.Errorf("enqueued (-want +got):\n%s", diff)
	}
	rig.SharedCache.Err = errors.New("stopped")
	w.EnqueuePeers(t.Context())
	if len(said.lines) != 1 {
		t.Errorf("a cache that has stopped: %s", said.lines)
	}
}
