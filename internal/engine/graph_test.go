package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/field"
)

// TestOutdated checks that a running pod finds out about a refused change of what it uses at its destination, and
// about nothing else.
func TestOutdated(t *testing.T) {
	rig := enginetest.New()
	g := &graph{
		needed:  map[string]needed{"configmap": &kindController[*corev1.ConfigMap]{reporter: rig.Reporter}},
		resolve: func(at decide.Destination, _ string) decide.Destination { return at },
	}
	here := decide.Destination{Target: fixture.Target, Local: "team", Open: true}
	refs := []decide.Ref{{Key: decide.Key{Kind: "configmap", NamespacedName: types.NamespacedName{Namespace: "team", Name: "settings"}}}}
	if g.AnyRefused() || g.Outdated(refs, here) != nil {
		t.Error("nothing is refused")
	}
	s := fixture.Observed(fixture.Local(), fixture.Remote())
	rig.Refuse(s, decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}, field.Problem{Reason: "DeletionFailed", Message: "no"})
	if g.Outdated(refs, here) != nil {
		t.Error("a deletion is not told to what uses it no more")
	}
	rig.Refuse(s, decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote()}, field.Problem{Reason: "UpdateRejected", Message: "no"})
	want := &field.Problem{Reason: "UpdateRejected", Message: "with an outdated dependency: ConfigMap team/settings: no"}
	if diff := cmp.Diff(want, g.Outdated(refs, here)); diff != "" || !g.AnyRefused() {
		t.Errorf("outdated (-want +got):\n%s", diff)
	}
	elsewhere := here
	elsewhere.Namespace = "mount"
	if g.Outdated(refs, elsewhere) != nil {
		t.Error("it is not about the copy in another namespace")
	}
}

// asked is a kind that records the calls to it, and a queue.
type asked struct {
	runner
	lines   []string
	keys    []types.NamespacedName
	places  []decide.Destination
	needed  decide.Need
	unsent  []decide.Key
	failure error
}

func (a *asked) Enqueue(_ int, keys ...decide.Key) {
	for _, key := range keys {
		a.lines = append(a.lines, key.String())
	}
}

func (a *asked) EnqueueNamespace(_ context.Context, namespace string) {
	a.lines = append(a.lines, "all of "+namespace)
}

func (a *asked) EnqueuePeers(context.Context) { a.lines = append(a.lines, "what names namespaces") }

func (a *asked) Unsent(context.Context, string) ([]decide.Key, error) {
	return a.unsent, a.failure
}

func (a *asked) before(context.Context, *corev1.Pod) ([]decide.Ref, error) {
	return []decide.Ref{settingsRef}, a.failure
}

func (a *asked) Referers(context.Context, decide.Key) ([]types.NamespacedName, error) {
	return a.keys, a.failure
}

func (a *asked) Destinations(context.Context, types.NamespacedName) ([]decide.Destination, error) {
	return a.places, nil
}

func (a *asked) need(_ context.Context, _ decide.Key, ref decide.Ref, in string) (decide.Need, error) {
	return decide.Need{Kind: ref.Kind, NamespacedName: types.NamespacedName{Namespace: in, Name: ref.Name}, Ready: a.needed.Ready}, a.failure
}

func (*asked) anyRefused() bool { return false }

func (*asked) outdated(types.NamespacedName, string) *field.Problem { return nil }

var (
	settingsRef = decide.Ref{Key: decide.Key{Kind: "configmap", NamespacedName: types.NamespacedName{Namespace: "team", Name: "settings"}}}
	web         = types.NamespacedName{Namespace: "team", Name: "web"}
	db          = types.NamespacedName{Namespace: "team", Name: "db"}
)

// kinds returns a graph in which the mapped pods need ConfigMaps, and ConfigMaps need nothing.
func kinds() (g *graph, pods, configMaps *asked) {
	home := decide.Destination{Target: fixture.Target, Local: "team", Open: true}
	pods = &asked{keys: []types.NamespacedName{web, db}, places: []decide.Destination{home}}
	configMaps = &asked{}
	return &graph{
		runners: map[string]runner{"pod": pods, "configmap": configMaps},
		needing: map[string]needing{"pod": pods},
		needed:  map[string]needed{"configmap": configMaps},
		resolve: func(at decide.Destination, _ string) decide.Destination { return at },
	}, pods, configMaps
}

func TestGraphPlaces(t *testing.T) {
	g, pods, _ := kinds()
	places, used, err := g.Destinations(t.Context(), settingsRef.Key)
	if err != nil || !used || len(places) != 1 || places[0].Namespace != "team-home" {
		t.Errorf("two pods in one place: %v, %t, %v", places, used, err)
	}
	pods.places = nil
	if places, used, err = g.Destinations(t.Context(), settingsRef.Key); err != nil || !used || len(places) > 0 {
		t.Errorf("pods that are in no place: %v, %t, %v", places, used, err)
	}
	pods.keys = nil
	if _, used, err = g.Destinations(t.Context(), settingsRef.Key); err != nil || used {
		t.Errorf("no pods: %t, %v", used, err)
	}
	pods.failure = errors.New("the cache has ended")
	if _, _, err = g.Destinations(t.Context(), settingsRef.Key); !errors.Is(err, pods.failure) {
		t.Errorf("got %v", err)
	}
}

// TestGraphPreceding checks that the graph knows what must exist before pods, and that its outcome concerns the
// unsent pods of its namespace.
func TestGraphPreceding(t *testing.T) {
	g, pods, configMaps := kinds()
	g.preceding = map[string]preceding{"configmap": configMaps}
	before, err := g.Before(t.Context(), &corev1.Pod{})
	if diff := cmp.Diff([]decide.Ref{settingsRef}, before); diff != "" || err != nil {
		t.Errorf("before a pod: %v, (-want +got):\n%s", err, diff)
	}
	pods.unsent = []decide.Key{{Kind: "pod", NamespacedName: db}}
	concerned, err := g.dependants(t.Context(), settingsRef.Key)
	if diff := cmp.Diff(pods.unsent, concerned); diff != "" || err != nil {
		t.Errorf("concerned: %v (-want +got):\n%s", err, diff)
	}
	configMaps.failure = errors.New("the cache has ended")
	if _, err := g.Before(t.Context(), &corev1.Pod{}); !errors.Is(err, configMaps.failure) {
		t.Errorf("got %v", err)
	}
	if _, err := g.dependants(t.Context(), settingsRef.Key); !errors.Is(err, configMaps.failure) {
		t.Errorf("got %v", err)
	}
}

func TestGraphNeeds(t *testing.T) {
	g, _, configMaps := kinds()
	at := decide.Destination{Target: fixture.Target, Local: "team"}
	needs, err := g.Needs(t.Context(), decide.Key{}, []decide.Ref{settingsRef}, at)
	if err != nil || len(needs) != 1 || needs[0].Namespace != "team-home" {
		t.Errorf("got %v, %v", needs, err)
	}
	if _, err := g.Needs(t.Context(), decide.Key{}, []decide.Ref{{Key: decide.Key{Kind: "lease"}}}, at); err == nil {
		t.Error("a kind that nothing is known of is needed, and nobody says so")
	}
	configMaps.failure = errors.New("the cache has ended")
	if _, err := g.Needs(t.Context(), decide.Key{}, []decide.Ref{settingsRef}, at); !errors.Is(err, configMaps.failure) {
		t.Errorf("got %v", err)
	}
}

func TestGraphEnqueues(t *testing.T) {
	g, pods, configMaps := kinds()
	shown := &asked{}
	g.kinds = map[string]Runner{"pod": pods, "configmap": configMaps, "warning": shown}
	want := []decide.Key{{Kind: "pod", NamespacedName: web}, {Kind: "pod", NamespacedName: db}}
	concerned, err := g.dependants(t.Context(), settingsRef.Key)
	if diff := cmp.Diff(want, concerned); diff != "" || err != nil {
		t.Errorf("concerned: %v (-want +got):\n%s", err, diff)
	}
	g.EnqueueNamespace(t.Context(), "team")
	for what, got := range map[string][2][]string{
		"pods":       {{"all of team"}, pods.lines},
		"ConfigMaps": {{"all of team"}, configMaps.lines},
		"warnings":   {{"all of team"}, shown.lines},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: got %v, want %v", what, got[1], got[0])
		}
	}
}
