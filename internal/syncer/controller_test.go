package syncer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/decide/mapping"
	"github.com/spillway-io/spillway/internal/syncer/act"
	"github.com/spillway-io/spillway/internal/syncer/objects"
	"github.com/spillway-io/spillway/internal/syncer/observe"
	"github.com/spillway-io/spillway/internal/syncer/plan"
	"github.com/spillway-io/spillway/internal/syncer/synctest"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/internal/translate"
)

// world is a controller of ConfigMaps between two API servers.
type world struct {
	controller         *kindController[*corev1.ConfigMap]
	rig                *synctest.Rig
	consumer, provider *synctest.Server
	pods               *asked // That need the ConfigMap.
	requests           []string
	notified           int
	paused             bool
	lacking            string
}

func newWorld() *world {
	w := &world{rig: synctest.New()}
	rig := w.rig
	nsm := builder.Map("eu").Accepted("team", "team-home").Obj()
	namespaces := mapping.New(fixture.Mark, builder.Binding("eu").Obj(), nsm, mapping.World{})
	rig.Provider.Indexes = map[string]client.IndexerFunc{objects.FieldLocal: func(obj client.Object) []string { return []string{objects.LocalKey(obj).String()} }}
	w.consumer = &synctest.Server{Name: "consumer", Requests: &w.requests, Shows: map[*synctest.Cache]func(*corev1.ConfigMap) bool{
		rig.View:      func(m *corev1.ConfigMap) bool { return decide.IsPinned(m, "eu") },
		rig.Catalogue: func(*corev1.ConfigMap) bool { return true },
	}}
	w.provider = &synctest.Server{Name: "provider", Requests: &w.requests, Shows: map[*synctest.Cache]func(*corev1.ConfigMap) bool{
		rig.Provider: func(m *corev1.ConfigMap) bool { return fixture.Mark.IsOn(m) },
	}}
	rig.Remotes.Live = w.provider
	g, pods, _ := kinds()
	w.pods = pods
	w.controller = &kindController[*corev1.ConfigMap]{
		kind: rig.Kind, binding: "eu", memory: rig.Memory, refusals: rig.Refusals, events: events.NewFakeRecorder(10),
		observer: &observe.Observer[*corev1.ConfigMap]{
			Kind: rig.Kind, ClusterID: "eu", Locals: rig.Locals, Remotes: rig.Remotes, Uses: g, Memory: rig.Memory, Refusals: rig.Refusals,
			Mapping: func() *mapping.Mapping { return namespaces }, Limits: func() *translate.Limits { return nil }, Clock: rig.Clock,
		},
		planner: &plan.Planner[*corev1.ConfigMap]{Kind: rig.Kind, Binding: "eu", ClusterID: "eu", Memory: rig.Memory, Refusals: rig.Refusals},
		actor: &act.Actor[*corev1.ConfigMap]{
			Kind: rig.Kind, ClusterID: "eu", Locals: rig.Locals, Remotes: rig.Remotes, Memory: rig.Memory, Refusals: rig.Refusals,
			Consumer: w.consumer, Provider: w.provider, Live: w.consumer, Sent: func(client.Object) {}, Clock: rig.Clock,
		},
		paused: func() bool { return w.paused }, lacking: func() string { return w.lacking },
		notify: func(context.Context, decide.Ref) error { w.notified++; return nil },
	}
	return w
}

// reconcile makes one pass, and returns the requests of it.
func (w *world) reconcile(t *testing.T) ([]string, reconcile.Result) {
	t.Helper()
	w.requests = nil
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "settings"}}
	result, err := w.controller.Reconcile(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return w.requests, result
}

// TestTranscripts holds the requests of a pass, on either side, against what is listed.
func TestTranscripts(t *testing.T) {
	gone := func(w *world) { w.pods.keys = nil }
	forbidden := func(string, *corev1.ConfigMap) error {
		return apierrors.NewForbidden(synctest.Resource, "settings", nil)
	}
	for name, test := range map[string]struct {
		local, remote *corev1.ConfigMap
		change        func(*world)
		want          []string
		again         bool // It is looked at again after a while.
	}{
		"pods need it": {local: fixture.Local(), want: []string{
			"consumer: patch team/settings", "provider: create team-home/settings"}},
		"it is there": {local: fixture.Local(fixture.Sent), remote: fixture.Remote()},
		"it has changed": {local: fixture.Local(fixture.Sent, fixture.Data("a", "2")), remote: fixture.Remote(), want: []string{
			"provider: patch team-home/settings"}},
		"nothing needs it any more": {local: fixture.Local(fixture.Sent), remote: fixture.Remote(), change: gone, want: []string{
			"provider: delete team-home/settings", "consumer: patch team/settings"}},
		"nothing has ever needed it": {local: fixture.Local(), change: gone},
		"it is gone here":            {remote: fixture.Remote(), change: gone, want: []string{"provider: delete team-home/settings"}},
		"somebody has its name": {local: fixture.Local(fixture.Sent), change: func(w *world) {
			w.provider.Put(fixture.Remote(func(m *corev1.ConfigMap) { m.Labels, m.Annotations, m.UID = nil, nil, "theirs" }))
		}, want: []string{"provider: create team-home/settings", "provider: get team-home/settings"}, again: true},
		"the provider refuses it": {local: fixture.Local(fixture.Sent), change: func(w *world) { w.provider.Refuses = forbidden }, want: []string{
			"provider: create team-home/settings: Forbidden"}, again: true},
		"the consumer refuses the pin": {local: fixture.Local(), change: func(w *world) { w.consumer.Refuses = forbidden }, want: []string{
			"consumer: patch team/settings: Forbidden"}, again: true},
		"the binding is paused": {local: fixture.Local(), change: func(w *world) { w.paused = true }},
		"a right is missing":    {local: fixture.Local(), change: func(w *world) { w.lacking = "list" }},
		"it was made by a dead one": {local: fixture.Local(fixture.Sent), change: func(w *world) {
			w.provider.Put(fixture.Remote())
			w.rig.Provider.Has = nil // The cache is behind.
		}, want: []string{"provider: create team-home/settings", "provider: get team-home/settings"}, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			if test.local != nil {
				w.consumer.Put(test.local)
			}
			if test.remote != nil {
				w.provider.Put(test.remote)
			}
			if test.change != nil {
				test.change(w)
			}
			requests, result := w.reconcile(t)
			if diff := cmp.Diff(test.want, requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if again := result.RequeueAfter > 0; again != test.again {
				t.Errorf("it is looked at again after %s", result.RequeueAfter)
			}
			if more, _ := w.reconcile(t); len(more) > 0 {
				t.Errorf("a second pass makes %s", strings.Join(more, ", "))
			}
		})
	}
}

// TestNotifiedOnce: what needs an object is notified of what has become of it, once, and
// of a problem that is another one.
func TestNotifiedOnce(t *testing.T) {
	w := newWorld()
	w.consumer.Put(fixture.Local(fixture.Sent))
	w.provider.Refuses = func(string, *corev1.ConfigMap) error {
		return apierrors.NewForbidden(synctest.Resource, "settings", nil)
	}
	for range 3 {
		w.reconcile(t)
	}
	if w.notified != 1 {
		t.Errorf("notified %d times of a refusal", w.notified)
	}
	w.provider.Refuses = nil
	w.rig.Clock.Step(time.Minute)
	w.reconcile(t)
	w.reconcile(t)
	if w.notified != 2 {
		t.Errorf("notified %d times in the end", w.notified)
	}
}
