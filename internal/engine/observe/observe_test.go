package observe

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

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// uses has objects that need the ConfigMap at these destinations.
type uses struct {
	places []decide.Destination
	used   bool
}

func (u uses) Destinations(_ context.Context, of decide.Key) ([]decide.Destination, bool, error) {
	if of.Kind != "configmap" || of.Name != "settings" {
		return nil, false, nil
	}
	return u.places, u.used, nil
}

func (uses) Needs(_ context.Context, _ decide.Key, refs []decide.Ref, at decide.Destination) ([]decide.Need, error) {
	var needs []decide.Need
	for _, ref := range refs {
		needs = append(needs, decide.Need{Kind: ref.Kind, NamespacedName: types.NamespacedName{Namespace: at.Namespace, Name: ref.Name}})
	}
	return needs, nil
}

func (uses) Before(context.Context, *corev1.Pod) ([]decide.Ref, error) { return nil, nil }

func (uses) AnyRefused() bool { return true }

func (uses) Outdated([]decide.Ref, decide.Destination) *field.Problem {
	return &field.Problem{Reason: "Outdated"}
}

// namespaces maps the namespaces team, closing (which is leaving) and waiting (which has no remote namespace
// yet). All others go to a mount namespace.
func namespaces() *mapping.Mapping {
	binding := builder.Binding("eu").MountNamespace("spillover").Condition(v1alpha1.BindingMountNamespaceReady, "True", "", "").Obj()
	nsm := builder.Map("eu").Accepted("team", "team-home").Desired("waiting", "waiting-home").
		Current("closing", "closing-home", v1alpha1.MappingTerminating, "", "").Obj()
	return mapping.New(fixture.Mark, binding, nsm, enginetest.LocalNamespaces())
}

func observer(u uses) (*Observer[*corev1.ConfigMap], *enginetest.Rig) {
	rig := enginetest.New()
	rig.Provider.Indexes = map[string]client.IndexerFunc{objects.FieldLocal: objects.IndexLocal(kind.InMappedNamespace)}
	return &Observer[*corev1.ConfigMap]{
		Kind: rig.Kind, ClusterID: "eu", Locals: rig.Locals, Remotes: rig.Remotes, Uses: u, Sent: rig.Attempts.Sent,
		Mapping: namespaces, Limits: func() *field.Limits { return nil }, Clock: rig.Clock,
		ClockSkew: func() time.Duration { return time.Minute },
	}, rig
}

// seen is a short form of an ObjectState.
type seen struct {
	Known    bool
	Sites    []string // What is known about the destination, its namespace, and the remote object there.
	Strays   []string
	Outdated bool
	Needs    []string
}

func inShort(s fixture.ObjectState) seen {
	short := seen{Known: s.Known}
	name := func(m *corev1.ConfigMap) string { return client.ObjectKeyFromObject(m).String() }
	for _, site := range s.RemoteStates {
		var words []string
		if site.Wanted {
			words = append(words, "wanted")
		}
		if site.Destination.Open {
			words = append(words, "open")
		}
		if site.Destination.Namespace != "" {
			words = append(words, "in "+site.Destination.Namespace)
		}
		if site.Remote != nil {
			words = append(words, "there is "+name(site.Remote))
		}
		short.Sites = append(short.Sites, strings.Join(words, ", "))
		short.Outdated = short.Outdated || site.Outdated != nil
		for _, need := range site.Needs {
			short.Needs = append(short.Needs, need.String())
		}
	}
	for _, m := range s.Duplicates {
		short.Strays = append(short.Strays, name(m))
	}
	return short
}

func in(namespace string) fixture.Option {
	return func(m *corev1.ConfigMap) { m.Namespace = namespace }
}

func unmarked(m *corev1.ConfigMap) { m.Labels = nil }

func ofAnother(m *corev1.ConfigMap) {
	m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationLocalUID, "local-0")
}

func version(v string) fixture.Option {
	return func(m *corev1.ConfigMap) { m.ResourceVersion = v }
}

func named(uid string) fixture.Option {
	return func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationRemoteUID, uid)
		m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationRemoteFor, "local-1")
		m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationRemoteNamespace, "team-home")
	}
}

func wentTo(namespace string) fixture.Option {
	return func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationRemoteNamespace, namespace)
	}
}

func uid(uid types.UID) fixture.Option { return func(m *corev1.ConfigMap) { m.UID = uid } }

// TestObserve checks all parts of a snapshot.
func TestObserve(t *testing.T) {
	home := decide.Destination{Target: fixture.Target, Local: "team", Open: true}
	mount := namespaces().Destination("other")
	mount.Local = "team"
	byPod := uses{[]decide.Destination{home}, true}
	type sides struct{ view, listed, remote []*corev1.ConfigMap }
	one := func(all ...*corev1.ConfigMap) []*corev1.ConfigMap { return all }
	local, sent := fixture.Local(), fixture.Local(fixture.Sent)
	for name, test := range map[string]struct {
		selection kind.Selection
		uses      uses
		has       sides
		change    func(*kind.Kind[*corev1.ConfigMap])
		key       string // The namespace, if it is not team.
		want      seen
	}{
		"nothing needs it": {kind.Referenced, uses{}, sides{listed: one(local)}, nil, "",
			seen{Sites: []string{"open, in team-home"}}},
		"a pod needs it": {kind.Referenced, byPod, sides{listed: one(local)}, nil, "",
			seen{Sites: []string{"wanted, open, in team-home"}}},
		"a pod of another namespace needs it": {kind.Referenced, byPod, sides{listed: one(fixture.Local(in("other")))}, nil, "other",
			seen{Sites: []string{"wanted, open, in spillover"}}},
		"two pods need it there": {kind.Referenced, uses{[]decide.Destination{home, home}, true}, sides{listed: one(local)}, nil, "",
			seen{Sites: []string{"wanted, open, in team-home"}}},
		"it is pinned": {kind.Referenced, byPod, sides{view: one(sent), listed: one(sent)}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home"}}},
		"the view is behind": {kind.Referenced, byPod, sides{view: one(sent), listed: one(fixture.Local(fixture.Sent, version("6")))}, nil, "",
			seen{Sites: []string{"wanted, open, in team-home"}}},
		"the copy is there": {kind.Referenced, byPod, sides{view: one(sent), listed: one(sent), remote: one(fixture.Remote())}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home, there is team-home/settings"}}},
		"two places need it": {kind.Referenced, uses{[]decide.Destination{mount, home}, true}, sides{view: one(sent), listed: one(sent), remote: one(fixture.Remote())}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in spillover", "wanted, open, in team-home, there is team-home/settings"}}},
		"two, and it can be in one": {kind.Referenced, uses{[]decide.Destination{mount, home}, true}, sides{view: one(sent), listed: one(sent), remote: one(fixture.Remote())},
			func(k *kind.Kind[*corev1.ConfigMap]) { k.For = func(m *corev1.ConfigMap) string { return m.Namespace } }, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home, there is team-home/settings"}}},
		"a copy is where nothing needs it": {kind.Referenced, byPod, sides{view: one(sent), listed: one(sent), remote: one(fixture.Remote(in("left")))}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home", "there is left/settings"}}},
		"what needs it is on its way out": {kind.Referenced, uses{used: true}, sides{view: one(sent), listed: one(sent), remote: one(fixture.Remote())}, nil, "",
			seen{Known: true, Sites: []string{"wanted, there is team-home/settings"}}},
		"a copy of an older one": {kind.Referenced, byPod, sides{listed: one(local), remote: one(fixture.Remote(ofAnother))}, nil, "",
			seen{Sites: []string{"wanted, open, in team-home"}, Strays: []string{"team-home/settings"}}},
		"a copy without our mark": {kind.Referenced, byPod, sides{listed: one(local), remote: one(fixture.Remote(unmarked))}, nil, "",
			seen{Sites: []string{"wanted, open, in team-home"}}},
		"only the copy is left": {kind.Referenced, uses{}, sides{remote: one(fixture.Remote())}, nil, "",
			seen{Sites: []string{"open, in team-home, there is team-home/settings"}}},
		"what it needs": {kind.Referenced, byPod, sides{view: one(sent), listed: one(sent)},
			func(k *kind.Kind[*corev1.ConfigMap]) {
				k.Needs = func(*corev1.ConfigMap) []decide.Ref {
					return []decide.Ref{{Key: decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Name: "key"}}}}
				}
			}, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home"}, Needs: []string{"team-home/key"}}},
		"what it needs, and it is there": {kind.Referenced, byPod, sides{view: one(sent), listed: one(sent), remote: one(fixture.Remote())},
			func(k *kind.Kind[*corev1.ConfigMap]) {
				k.Needs = func(*corev1.ConfigMap) []decide.Ref { return []decide.Ref{{Key: decide.Key{Kind: "secret"}}} }
			}, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home, there is team-home/settings"}}},
		"on the node, and it is said that it went elsewhere": {kind.OnVirtualNode, uses{}, sides{view: one(fixture.Local(named("remote-1"), wentTo("spillover")))}, nil, "",
			seen{Known: true, Sites: []string{"open, in spillover"}}},
		"on the node, and that is said of another one": {kind.OnVirtualNode, uses{}, sides{view: one(fixture.Local(named("remote-1"), wentTo("spillover"), uid("local-2")))}, nil, "",
			seen{Known: true, Sites: []string{"open, in team-home"}}},
		"on the node, and there twice, named elsewhere": {kind.OnVirtualNode, uses{},
			sides{view: one(fixture.Local(named("remote-2"))), remote: one(fixture.Remote(), fixture.Remote(in("spillover"), uid("remote-2")))}, nil, "",
			seen{Known: true, Sites: []string{"open, in spillover, there is spillover/settings"}, Strays: []string{"team-home/settings"}}},
		"on the node: only the copies are left": {kind.OnVirtualNode, uses{}, sides{remote: one(fixture.Remote(in("left"), uid("remote-2")), fixture.Remote())}, nil, "",
			seen{Sites: []string{"open, in team-home, there is team-home/settings"}, Strays: []string{"left/settings"}}},
		"on the node": {kind.OnVirtualNode, uses{}, sides{view: one(local)}, nil, "",
			seen{Known: true, Sites: []string{"open, in team-home"}}},
		"on the node, and there": {kind.OnVirtualNode, uses{}, sides{view: one(local), remote: one(fixture.Remote())}, nil, "",
			seen{Known: true, Sites: []string{"open, in team-home, there is team-home/settings"}}},
		"on the node, and where it went before": {kind.OnVirtualNode, uses{}, sides{view: one(local), remote: one(fixture.Remote(in("spillover")))}, nil, "",
			seen{Known: true, Sites: []string{"open, in spillover, there is spillover/settings"}}},
		"on the node, and there twice": {kind.OnVirtualNode, uses{},
			sides{view: one(fixture.Local(named("remote-1"))), remote: one(fixture.Remote(in("left"), func(m *corev1.ConfigMap) { m.UID = "remote-2" }), fixture.Remote())}, nil, "",
			seen{Known: true, Sites: []string{"open, in team-home, there is team-home/settings"}, Strays: []string{"left/settings"}}},
		"in a mapped namespace": {kind.InMappedNamespace, uses{}, sides{listed: one(local)}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home"}}},
		"in one, and there": {kind.InMappedNamespace, uses{}, sides{listed: one(local), remote: one(fixture.Remote())}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home, there is team-home/settings"}}},
		"in one, and it says that it went elsewhere": {kind.InMappedNamespace, uses{}, sides{listed: one(fixture.Local(named("remote-1"), wentTo("spillover")))}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home"}}},
		"in one, and in another": {kind.InMappedNamespace, uses{}, sides{listed: one(local), remote: one(fixture.Remote(), fixture.Remote(in("left"), uid("remote-2")))}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home, there is team-home/settings", "there is left/settings"}}},
		"in one, for an older one": {kind.InMappedNamespace, uses{}, sides{listed: one(local), remote: one(fixture.Remote(ofAnother))}, nil, "",
			seen{Known: true, Sites: []string{"wanted, open, in team-home"}, Strays: []string{"team-home/settings"}}},
		"in one, and only the copy is left": {kind.InMappedNamespace, uses{}, sides{remote: one(fixture.Remote())}, nil, "",
			seen{Sites: []string{"wanted, open, in team-home, there is team-home/settings"}}},
		"in one, and its kind is not listed": {kind.InMappedNamespace, uses{}, sides{listed: one(local), remote: one(fixture.Remote())},
			func(k *kind.Kind[*corev1.ConfigMap]) { k.Resource = "Others" }, "",
			seen{Known: true, Sites: []string{"open, in team-home, there is team-home/settings"}}},
		"in one, and it is the cluster's": {kind.InMappedNamespace, uses{}, sides{listed: one(local)},
			func(k *kind.Kind[*corev1.ConfigMap]) {
				k.Never = func(name types.NamespacedName) bool { return name.Name == "settings" }
			}, "",
			seen{Known: true, Sites: []string{"open, in team-home"}}},
		"in one that is not there yet": {kind.InMappedNamespace, uses{}, sides{listed: one(fixture.Local(in("waiting")))}, nil, "waiting",
			seen{Known: true, Sites: []string{"wanted, in waiting-home"}}},
		"in one that goes": {kind.InMappedNamespace, uses{}, sides{listed: one(fixture.Local(in("closing")))}, nil, "closing",
			seen{Known: true, Sites: []string{"wanted, in closing-home"}}},
		"in one that is mounted": {kind.InMappedNamespace, uses{}, sides{listed: one(fixture.Local(in("other")))}, nil, "other",
			seen{Known: true, Sites: []string{""}}},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(test.uses)
			o.Kind.Selection = test.selection
			if test.selection == kind.InMappedNamespace {
				rig.Shares()
			}
			if test.change != nil {
				test.change(o.Kind)
			}
			for cache, has := range map[*enginetest.Cache][]*corev1.ConfigMap{rig.View: test.has.view, rig.SharedCache: test.has.listed, rig.Provider: test.has.remote} {
				for _, m := range has {
					cache.Has = append(cache.Has, m)
				}
			}
			key := client.ObjectKeyFromObject(local)
			if test.key != "" {
				key.Namespace = test.key
			}
			s, err := o.Observe(t.Context(), key, attempts.Record{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, inShort(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestObserveCounted checks that only pods at the destination of the copy count.
func TestObserveCounted(t *testing.T) {
	o, rig := observer(uses{})
	rig.Shares()
	o.Pods, rig.SharedCache.Has = rig.View, []client.Object{fixture.Local()}
	for name, remote := range map[string]string{"there": "team-home", "mounted": "spillover", "unsent": "", "other": "team-home"} {
		rig.View.Has = append(rig.View.Has, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, Annotations: map[string]string{v1alpha1.AnnotationRemoteNamespace: remote},
		}})
	}
	key := client.ObjectKeyFromObject(fixture.Local())
	if s, err := o.Observe(t.Context(), key, attempts.Record{}, nil); err != nil || s.Counted != 0 {
		t.Errorf("a kind for which none counts: %d, %v", s.Counted, err)
	}
	o.Kind.Counts = func(*corev1.ConfigMap) func(*corev1.Pod) bool {
		return func(pod *corev1.Pod) bool { return pod.Name != "other" }
	}
	if s, err := o.Observe(t.Context(), key, attempts.Record{}, nil); err != nil || s.Counted != 1 {
		t.Errorf("counted %d, %v", s.Counted, err)
	}
	rig.View.Err = errors.New("stopped")
	if _, err := o.Observe(t.Context(), key, attempts.Record{}, nil); err == nil {
		t.Error("nobody knows how many there are")
	}
}

// TestObserveOutdated checks that a running pod finds out that what it uses is outdated.
func TestObserveOutdated(t *testing.T) {
	o, rig := observer(uses{})
	o.Kind.Selection = kind.OnVirtualNode
	o.Kind.Needs = func(*corev1.ConfigMap) []decide.Ref { return nil }
	rig.View.Has, rig.Provider.Has = []client.Object{fixture.Local()}, []client.Object{fixture.Remote()}
	if s, err := o.Observe(t.Context(), client.ObjectKeyFromObject(fixture.Local()), attempts.Record{}, nil); err != nil || s.RemoteStates[0].Outdated == nil {
		t.Errorf("got %v, %v", s.RemoteStates[0].Outdated, err)
	}
}

// TestObserveNamespace checks that a pod waits until its namespace in the provider is seen, and knows its UID.
// Copies, and objects that have copies, need no owner.
func TestObserveNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		selection kind.Selection
		uid       types.UID
		there     []client.Object
		want      []decide.Need
	}{
		"seen": {kind.OnVirtualNode, "namespace-1", nil, []decide.Need{{Kind: "namespace", NamespacedName: types.NamespacedName{Name: "team-home"}, Ready: true, Problem: field.Problem{
			Reason: "NamespaceNotReady", Message: "namespace team-home of provider eu is not visible yet"}}}},
		"not yet": {kind.OnVirtualNode, "", nil, []decide.Need{{Kind: "namespace", NamespacedName: types.NamespacedName{Name: "team-home"}, Problem: field.Problem{
			Reason: "NamespaceNotReady", Message: "namespace team-home of provider eu is not visible yet"}}}},
		"it is there":     {kind.OnVirtualNode, "", []client.Object{fixture.Remote()}, nil},
		"it needs others": {kind.Referenced, "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(uses{})
			o.Kind.Selection, o.Kind.Needs = test.selection, func(*corev1.ConfigMap) []decide.Ref { return nil }
			o.Namespace = func(context.Context, string) (types.UID, error) { return test.uid, nil }
			rig.View.Has, rig.Provider.Has = []client.Object{fixture.Local()}, test.there
			s, err := o.Observe(t.Context(), client.ObjectKeyFromObject(fixture.Local()), attempts.Record{}, nil)
			if diff := cmp.Diff(test.want, s.RemoteStates[0].Needs); diff != "" || err != nil || s.RemoteStates[0].NamespaceUID != test.uid {
				t.Errorf("UID %q, %v (-want +got):\n%s", s.RemoteStates[0].NamespaceUID, err, diff)
			}
		})
	}
}

// TestReferers checks that an object that the limits refuse needs nothing, unless it already runs.
func TestReferers(t *testing.T) {
	of := decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: "team", Name: "key"}}
	for name, test := range map[string]struct {
		refused bool
		remote  []client.Object
		want    bool
	}{
		"let in":               {false, nil, true},
		"refused":              {true, nil, false},
		"refused, but running": {true, []client.Object{fixture.Remote()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(uses{})
			o.Kind.Selection = kind.OnVirtualNode
			o.Kind.Accepts = func(*corev1.ConfigMap, decide.Inputs) (accepted, known bool) { return !test.refused, true }
			rig.View.Has, rig.Provider.Has = []client.Object{fixture.Local()}, test.remote
			rig.View.Indexes = map[string]client.IndexerFunc{objects.FieldNeeds: func(client.Object) []string { return []string{of.String()} }}
			keys, err := o.Referers(t.Context(), of)
			if err != nil || slices.Contains(keys, client.ObjectKeyFromObject(fixture.Local())) != test.want {
				t.Errorf("got %v, %v", keys, err)
			}
		})
	}
}

// TestReferersInMappedNamespaces checks that an object that is sent because of its namespace needs something
// only while that namespace is mapped, until the remote namespace is gone.
func TestReferersInMappedNamespaces(t *testing.T) {
	of := decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: "team", Name: "key"}}
	in := func(namespace string) *corev1.ConfigMap {
		return fixture.Local(func(m *corev1.ConfigMap) { m.Namespace = namespace })
	}
	for namespace, want := range map[string]bool{"team": true, "waiting": true, "closing": true, "other": false} {
		o, rig := observer(uses{})
		rig.Shares()
		o.Kind.Accepts = func(*corev1.ConfigMap, decide.Inputs) (accepted, known bool) { return true, true }
		rig.SharedCache.Has = []client.Object{in(namespace)}
		rig.SharedCache.Indexes = map[string]client.IndexerFunc{objects.FieldNeeds: func(client.Object) []string { return []string{of.String()} }}
		keys, err := o.Referers(t.Context(), of)
		if err != nil || (len(keys) > 0) != want {
			t.Errorf("%s: got %v, %v", namespace, keys, err)
		}
	}
}

// TestPlacesOfOneOnTheNode checks that a pod that has gone to the mount namespace stays there.
func TestPlacesOfOneOnTheNode(t *testing.T) {
	o, rig := observer(uses{})
	o.Kind.Selection = kind.OnVirtualNode
	rig.View.Has, rig.Provider.Has = []client.Object{fixture.Local()}, []client.Object{fixture.Remote(in("spillover"))}
	places, err := o.Destinations(t.Context(), client.ObjectKeyFromObject(fixture.Local()))
	if err != nil || len(places) != 1 || places[0].Namespace != "spillover" || !places[0].Hashed {
		t.Errorf("got %v, %v", places, err)
	}
}

// TestPlacesOfOneThatAwaits checks that an object has no destination while it is unknown whether it is sent,
// unless it is already in the provider.
func TestPlacesOfOneThatAwaits(t *testing.T) {
	for name, test := range map[string]struct {
		awaits bool
		remote []client.Object
		want   int
	}{
		"known":                {false, nil, 1},
		"not known":            {true, nil, 0},
		"not known, but there": {true, []client.Object{fixture.Remote()}, 1},
	} {
		o, rig := observer(uses{})
		rig.Shares()
		mapped := namespaces()
		mapped.Binding().Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassIngress, Name: "public", RemoteName: "eu"}}
		o.Mapping = func() *mapping.Mapping { return mapped }
		o.Kind.Accepts = func(*corev1.ConfigMap, decide.Inputs) (accepted, known bool) { return !test.awaits, !test.awaits }
		rig.SharedCache.Has, rig.Provider.Has = []client.Object{fixture.Local()}, test.remote
		places, err := o.Destinations(t.Context(), client.ObjectKeyFromObject(fixture.Local()))
		if len(places) != test.want || err != nil {
			t.Errorf("%s: %v, %v", name, places, err)
		}
	}
}

// TestReferersFail checks that nothing is read without limits, and that errors are returned.
func TestReferersFail(t *testing.T) {
	of := decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: "team", Name: "key"}}
	stopped := errors.New("stopped")
	for name, test := range map[string]struct {
		limited        bool
		view, provider error
		want           int
		fails          bool
	}{
		"no limits":                       {false, nil, stopped, 1, false},
		"no limits, and the view stopped": {false, stopped, nil, 0, true},
		"limits, and the view stopped":    {true, stopped, nil, 0, true},
		"limits, and the provider's":      {true, nil, stopped, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(uses{})
			o.Kind.Selection = kind.OnVirtualNode
			if test.limited {
				o.Kind.Accepts = func(*corev1.ConfigMap, decide.Inputs) (accepted, known bool) { return false, true }
			}
			rig.View.Has = []client.Object{fixture.Local()}
			rig.View.Indexes = map[string]client.IndexerFunc{objects.FieldNeeds: func(client.Object) []string { return []string{of.String()} }}
			rig.View.Err, rig.Provider.Err = test.view, test.provider
			keys, err := o.Referers(t.Context(), of)
			if len(keys) != test.want || errors.Is(err, stopped) != test.fails {
				t.Errorf("got %v, %v", keys, err)
			}
		})
	}
}

// TestWhatIsOnItsWayOut checks that an object that is leaving waits, and says for what.
func TestWhatIsOnItsWayOut(t *testing.T) {
	o, rig := observer(uses{used: true})
	rig.SharedCache.Has = []client.Object{fixture.Local()}
	s, err := o.Observe(t.Context(), client.ObjectKeyFromObject(fixture.Local()), attempts.Record{}, nil)
	want := field.Problem{Reason: "ReferenceNotSynced", Message: "ConfigMap team/settings is being sent to the provider"}
	if diff := cmp.Diff(want, s.RemoteStates[0].Destination.Problem); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}

// calm says that nothing was refused.
type calm struct{ uses }

func (calm) AnyRefused() bool { return false }

// TestNothingIsOutdated checks that nothing is outdated if nothing was refused, and addresses and classes match
// the binding.
func TestNothingIsOutdated(t *testing.T) {
	o, rig := observer(uses{})
	o.Kind.Selection, o.Uses = kind.OnVirtualNode, calm{}
	o.Kind.Needs = func(*corev1.ConfigMap) []decide.Ref { return nil }
	routed := builder.Binding("eu").Obj()
	routed.Spec.Network = v1alpha1.ProviderNetwork{Mode: v1alpha1.NetworkRouted}
	routed.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassRuntime, Name: "sandbox", RemoteName: "gvisor"}}
	o.Mapping = func() *mapping.Mapping { return namespaces().WithBinding(routed) }
	rig.View.Has, rig.Provider.Has = []client.Object{fixture.Local()}, []client.Object{fixture.Remote()}
	s, err := o.Observe(t.Context(), client.ObjectKeyFromObject(fixture.Local()), attempts.Record{}, nil)
	if err != nil || s.RemoteStates[0].Outdated != nil || !s.Reach.Pending || len(s.Classes) != 1 {
		t.Errorf("got %v, %+v, %v, %v", s.RemoteStates[0].Outdated, s.Reach, s.Classes, err)
	}
}
