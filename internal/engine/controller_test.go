package engine

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/act"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/engine/objects"
	"github.com/spillway-io/spillway/internal/engine/observe"
	"github.com/spillway-io/spillway/internal/engine/plan"
	"github.com/spillway-io/spillway/internal/engine/waits"
	"github.com/spillway-io/spillway/internal/engine/watch"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// world is a controller of ConfigMaps between two API servers.
type world struct {
	controller         *kindController[*corev1.ConfigMap]
	rig                *enginetest.Rig
	consumer, provider *enginetest.Server
	pods               *asked // The pods that need the ConfigMap.
	requests           []string
	namespaces         *mapping.Mapping
	world              mapping.LocalNamespaces
	limits             *field.Limits
	told               int // How often the objects that need the ConfigMap were looked up, to enqueue them.
	paused             bool
	lacking            connection.Unreadable
}

func newWorld() *world {
	w := &world{rig: enginetest.New(), world: enginetest.LocalNamespaces()}
	rig := w.rig
	w.maps(builder.Map("eu").Accepted("team", "team-home").Obj())
	rig.Provider.Indexes = map[string]client.IndexerFunc{objects.FieldLocal: objects.IndexLocal(kind.InMappedNamespace)}
	w.consumer = &enginetest.Server{Name: "consumer", Requests: &w.requests, Shows: map[*enginetest.Cache]func(*corev1.ConfigMap) bool{
		rig.View:        func(m *corev1.ConfigMap) bool { return decide.IsProtected(m, "eu") },
		rig.SharedCache: func(*corev1.ConfigMap) bool { return true },
	}}
	w.provider = &enginetest.Server{Name: "provider", Requests: &w.requests, Shows: map[*enginetest.Cache]func(*corev1.ConfigMap) bool{
		rig.Provider: func(m *corev1.ConfigMap) bool { return fixture.Mark.IsOn(m) },
	}}
	rig.Remotes.Live = w.provider
	g, pods, _ := kinds()
	w.pods = pods
	w.controller = &kindController[*corev1.ConfigMap]{
		Watcher:  &watch.Watcher[*corev1.ConfigMap]{Kind: rig.Kind, Locals: rig.Locals, Remotes: rig.Remotes, Attempts: rig.Attempts, Queue: w.pods},
		reporter: rig.Reporter,
		observer: &observe.Observer[*corev1.ConfigMap]{
			Kind: rig.Kind, ClusterID: "eu", Locals: rig.Locals, Remotes: rig.Remotes, Uses: g, Sent: rig.Attempts.Sent,
			Mapping: func() *mapping.Mapping { return w.namespaces }, Limits: func() *field.Limits { return w.limits }, Clock: rig.Clock,
			ClockSkew: func() time.Duration { return 0 },
		},
		planner: &plan.Planner[*corev1.ConfigMap]{Kind: rig.Kind, Binding: "eu", ClusterID: "eu"},
		actor: &act.Actor[*corev1.ConfigMap]{
			Kind: rig.Kind, ClusterID: "eu", Locals: rig.Locals, Remotes: rig.Remotes, Attempts: rig.Attempts, Refused: rig.Reporter.Refused,
			Consumer: w.consumer, Provider: w.provider, Live: w.consumer, Sent: func(client.Object) {}, Clock: rig.Clock,
		},
		paused: func() bool { return w.paused }, whyUnreadable: func() connection.Unreadable { return w.lacking },
		waits: waits.New(func(...decide.Key) {}, func(context.Context, decide.Key) ([]decide.Key, error) { w.told++; return nil, nil }),
	}
	return w
}

// maps makes a NamespaceMap say where the namespaces go.
func (w *world) maps(nsm *v1alpha1.NamespaceMap) {
	w.namespaces = mapping.New(fixture.Mark, builder.Binding("eu").Obj(), nsm,
		w.world)
}

// share makes the kind one that is sent because of its namespace: all bindings share its cache.
func (w *world) share() {
	w.rig.Shares()
	w.pods.keys = nil
	w.consumer.Shows = map[*enginetest.Cache]func(*corev1.ConfigMap) bool{w.rig.SharedCache: func(*corev1.ConfigMap) bool { return true }}
}

// drains makes the deletion of the binding reach a step.
func (w *world) drains(reason string) {
	w.namespaces = w.namespaces.WithBinding(
		builder.Binding("eu").Deleted(0).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, reason, "").Obj())
}

// reconcile runs one reconcile, and returns its requests.
func (w *world) reconcile(t *testing.T) ([]string, reconcile.Result) {
	t.Helper()
	w.requests = nil
	result, err := w.controller.Reconcile(t.Context(), settingsRef.Key)
	if err != nil {
		t.Fatal(err)
	}
	return w.requests, result
}

// TestTranscripts compares the requests of a reconcile to both clusters with the lists below.
func TestTranscripts(t *testing.T) {
	gone := func(w *world) { w.pods.keys = nil }
	forbidden := func(string, *corev1.ConfigMap) error {
		return apierrors.NewForbidden(enginetest.Resource, "settings", nil)
	}
	for name, test := range map[string]struct {
		local, remote *corev1.ConfigMap
		change        func(*world)
		want          []string
		again         bool // The object is reconciled again after a while.
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
		"a right is missing":    {local: fixture.Local(), change: func(w *world) { w.lacking = connection.RightMissing("list configmaps") }},
		"it was made by a dead one": {local: fixture.Local(fixture.Sent), change: func(w *world) {
			w.provider.Put(fixture.Remote())
			w.rig.Provider.Has = nil // The cache lags.
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

// TestTranscriptsInMappedNamespaces is about a kind that is sent because of its namespace. Nothing is written
// to the local object. What is deleted with the remote namespace is not deleted one by one.
func TestTranscriptsInMappedNamespaces(t *testing.T) {
	const create, patch, remove = "provider: create team-home/settings", "provider: patch team-home/settings", "provider: delete team-home/settings"
	left := func(phase v1alpha1.MappingPhase) func(*world) {
		return func(w *world) { w.maps(builder.Map("eu").Current("team", "team-home", phase, "", "").Obj()) }
	}
	drains := func(reason string) func(*world) { return func(w *world) { w.drains(reason) } }
	offloading := func(change func(*v1alpha1.NamespaceOffloading)) func(*world) {
		return func(w *world) {
			w.world.Offloading = func(namespace string) *v1alpha1.NamespaceOffloading {
				nso := builder.Offloading(namespace).Obj()
				change(nso)
				return nso
			}
			w.maps(builder.Map("eu").Accepted("team", "team-home").Obj())
		}
	}
	goes := offloading(func(nso *v1alpha1.NamespaceOffloading) { nso.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} })
	none := offloading(func(nso *v1alpha1.NamespaceOffloading) { nso.Spec.Resources = []v1alpha1.OffloadedResource{} })
	unlisted := func(w *world) { w.rig.Kind.Resource = v1alpha1.OffloadedServices; none(w) }
	gone := func(w *world) { w.maps(builder.Map("eu").Obj()) }
	older := fixture.Remote(func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(m.Annotations, v1alpha1.AnnotationLocalUID, "local-0")
	})
	same := func(*world) {}
	for name, test := range map[string]struct {
		local, remote *corev1.ConfigMap
		change        func(*world)
		want, told    []string
	}{
		"mapped":      {fixture.Local(), nil, same, []string{create}, nil},
		"it is there": {fixture.Local(), fixture.Remote(), same, nil, nil},
		"it has changed": {fixture.Local(fixture.Data("a", "2")), fixture.Remote(), same,
			[]string{patch}, nil},
		"it is kept home":                          {fixture.Local(fixture.KeptHome), nil, same, nil, nil},
		"it is kept home now":                      {fixture.Local(fixture.KeptHome), fixture.Remote(), same, []string{remove}, nil},
		"it goes here":                             {fixture.Local(fixture.Going), fixture.Remote(), same, nil, nil},
		"it is gone here":                          {nil, fixture.Remote(), same, []string{remove}, nil},
		"it is gone here, with its offloading":     {nil, fixture.Remote(), goes, nil, nil},
		"it is another one here":                   {fixture.Local(), older, same, []string{remove, create}, nil},
		"the offloading goes":                      {fixture.Local(), nil, goes, []string{create}, nil},
		"its kind is not listed":                   {fixture.Local(), nil, unlisted, nil, nil},
		"its kind is not listed any more":          {fixture.Local(), fixture.Remote(), unlisted, []string{remove}, nil},
		"it is refused":                            {fixture.Local(fixture.Data("refuse", "x")), nil, same, nil, []string{"Refused"}},
		"it is refused now":                        {fixture.Local(fixture.Data("refuse", "x")), fixture.Remote(), same, []string{remove}, []string{"Refused"}},
		"it is replaced":                           {fixture.Local(fixture.Data("a", "2")), fixture.Remote(fixture.Data("frozen", "x")), same, []string{remove, create}, nil},
		"not mapped":                               {fixture.Local(), nil, gone, nil, nil},
		"not mapped, and there":                    {fixture.Local(), fixture.Remote(), gone, []string{remove}, nil},
		"no map, and it was never sent":            {fixture.Local(), nil, func(w *world) { w.maps(nil) }, nil, nil},
		"no map, and it is there":                  {fixture.Local(), fixture.Remote(), func(w *world) { w.maps(nil) }, nil, nil},
		"no map, and it is gone here":              {nil, fixture.Remote(), func(w *world) { w.maps(nil) }, nil, nil},
		"its entry has been taken out":             {fixture.Local(), fixture.Remote(), left(v1alpha1.MappingAccepted), nil, nil},
		"the remote namespace goes":                {fixture.Local(), fixture.Remote(), left(v1alpha1.MappingTerminating), nil, nil},
		"the remote namespace goes, and so has it": {nil, fixture.Remote(), left(v1alpha1.MappingTerminating), nil, nil},
		"the pods of the binding are evicted":      {fixture.Local(), nil, drains(v1alpha1.ReasonEvictingPods), []string{create}, nil},
		"the copies of the binding are deleted":    {fixture.Local(), fixture.Remote(), drains(v1alpha1.ReasonDeletingCopies), nil, nil},
		"a new one, while the copies are deleted":  {fixture.Local(), nil, drains(v1alpha1.ReasonDeletingCopies), nil, nil},
		"somebody has its name": {fixture.Local(), fixture.Remote(func(m *corev1.ConfigMap) { m.Labels, m.Annotations, m.UID = nil, nil, "theirs" }), same,
			[]string{create, "provider: get team-home/settings"}, []string{"NameConflict"}},
		"the provider refuses it": {fixture.Local(), nil, func(w *world) {
			w.provider.Refuses = func(string, *corev1.ConfigMap) error {
				return apierrors.NewForbidden(enginetest.Resource, "settings", nil)
			}
		}, []string{create + ": Forbidden"}, []string{"Rejected"}},
		"a right is missing":                            {fixture.Local(), nil, func(w *world) { w.lacking = connection.RightMissing("list configmaps") }, nil, []string{"RightsMissing"}},
		"a right is missing, and the binding is paused": {fixture.Local(), nil, func(w *world) { w.lacking, w.paused = connection.RightMissing("list configmaps"), true }, nil, nil},
		"its kind is not served":                        {fixture.Local(), nil, func(w *world) { w.lacking = connection.NotServed("configmaps") }, nil, []string{"KindNotServed"}},
		"a right is missing, and it is kept home":       {fixture.Local(fixture.KeptHome), nil, func(w *world) { w.lacking = connection.RightMissing("list configmaps") }, nil, nil},
		"a right is missing, and it is gone here":       {nil, fixture.Remote(), func(w *world) { w.lacking = connection.RightMissing("list configmaps") }, nil, nil},
		"nothing is known of the limits": {fixture.Local(), nil, func(w *world) {
			w.limits = &field.Limits{Unknown: &field.Problem{Reason: "LimitsMissing", Message: "there are none"}}
		}, nil, []string{"LimitsMissing"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.share()
			if test.local != nil {
				w.consumer.Put(test.local)
			}
			if test.remote != nil {
				w.provider.Put(test.remote)
			}
			test.change(w)
			requests, _ := w.reconcile(t)
			if diff := cmp.Diff(test.want, requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.told, w.rig.Recorded()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if len(test.told) == 0 && len(test.want) > 0 && test.want[len(test.want)-1] == remove {
				return // The next steps come when the copy is gone.
			}
			if more, _ := w.reconcile(t); len(more) > 0 {
				t.Errorf("a second pass makes %s", strings.Join(more, ", "))
			}
			if again := w.rig.Recorded(); len(again) > 0 {
				t.Errorf("a second pass tells %s", again)
			}
		})
	}
}

// TestWhoseDeletionsCount checks that copies are recreated at once, and nobody is blamed, if the consumer
// withdrew their namespace.
func TestWhoseDeletionsCount(t *testing.T) {
	offloaded, gone := builder.Map("eu").Accepted("team", "team-home").Obj(), builder.Map("eu").Obj()
	for who, meanwhile := range map[string]*v1alpha1.NamespaceMap{"the consumer": gone, "somebody": offloaded} {
		t.Run(who, func(t *testing.T) {
			w := newWorld()
			w.share()
			w.consumer.Put(fixture.Local())
			created := 0
			for range 6 {
				w.maps(offloaded)
				requests, _ := w.reconcile(t)
				created += len(requests)
				copied := &corev1.ConfigMap{}
				if w.provider.Get(t.Context(), client.ObjectKeyFromObject(fixture.Remote()), copied) == nil {
					if err := w.provider.Delete(t.Context(), copied, client.Preconditions{UID: &copied.UID}); err != nil {
						t.Fatal(err)
					}
				}
				w.maps(meanwhile)
				if meanwhile == gone {
					w.reconcile(t)
				}
			}
			if ours, told := meanwhile == gone, w.rig.Recorded(); ours != (created == 6) || ours && len(told) > 0 {
				t.Errorf("made %d times, and told %s", created, told)
			}
		})
	}
}

// waiting shows on each object why it is not sent, and informs its owner, as for pods.
type waiting struct {
	decide.FromConsumer[*corev1.ConfigMap]
}

func (waiting) Sync(decide.Snapshot[*corev1.ConfigMap]) decide.Plan { return decide.Plan{} }

func (waiting) SyncToRemote(s decide.Snapshot[*corev1.ConfigMap]) decide.Plan {
	problem := &field.Problem{Reason: "Waits", Message: "for a reason"}
	if s.Local.Labels["waits"] != "" {
		return decide.Plan{Problem: problem}
	}
	shown := s.Local.DeepCopy()
	shown.Labels = map[string]string{"waits": "yes"}
	show := decide.Action{Verb: decide.Patch, Side: decide.Local, Object: shown, Before: s.Local}
	return decide.Plan{Actions: []decide.Action{show}, Problem: problem, Event: problem}
}

// TestNothingIsWrittenUnseen checks that the caches show a kind before Spillway writes it. The object is
// enqueued when they do.
func TestNothingIsWrittenUnseen(t *testing.T) {
	for name, of := range map[string]func(*enginetest.Rig) *enginetest.Cache{
		"the provider's copies":   func(rig *enginetest.Rig) *enginetest.Cache { return rig.Provider },
		"what is pinned for them": func(rig *enginetest.Rig) *enginetest.Cache { return rig.View },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			cache := of(w.rig)
			cache.Unwatched = true
			w.consumer.Put(fixture.Local())
			if requests, result := w.reconcile(t); len(requests) > 0 || result.RequeueAfter > 0 || len(w.pods.lines) > 0 || w.told > 0 {
				t.Errorf("requests %v, %+v, enqueued %v, told %d times", requests, result, w.pods.lines, w.told)
			}
			cache.Open()
			if diff := cmp.Diff([]string{settingsRef.Key.String()}, w.pods.lines); diff != "" {
				t.Errorf("enqueued (-want +got):\n%s", diff)
			}
			if requests, _ := w.reconcile(t); len(requests) != 2 || w.told == 0 {
				t.Errorf("requests %v, told %d times", requests, w.told)
			}
		})
	}
}

// TestNothingIsWatchedForNothing checks that an object that is not written starts no watch.
func TestNothingIsWatchedForNothing(t *testing.T) {
	w := newWorld()
	w.rig.Provider.Unwatched, w.rig.View.Unwatched = true, true
	w.pods.keys = nil // Nothing needs the ConfigMap.
	w.consumer.Put(fixture.Local())
	w.reconcile(t)
	w.rig.Provider.Open()
	w.rig.View.Open()
	if len(w.pods.lines) > 0 {
		t.Errorf("it was waited for: %v", w.pods.lines)
	}
}

// TestTellsOfWhatIsShown checks that only the write that shows a problem causes an event.
func TestTellsOfWhatIsShown(t *testing.T) {
	w := newWorld()
	w.share()
	w.rig.Kind.Syncer = waiting{}
	w.consumer.Put(fixture.Local())
	for pass, want := range [][]string{{"Waits"}, nil} {
		_, _ = w.reconcile(t)
		if diff := cmp.Diff(want, w.rig.Recorded()); diff != "" {
			t.Errorf("events of pass %d (-want +got):\n%s", pass, diff)
		}
	}
	s := fixture.Observed(fixture.Local(), nil) // The next reconcile writes it again.
	s.Key, s.Now = types.NamespacedName{Namespace: "team", Name: "settings"}, w.rig.Clock.Now()
	toldBy := func(plan decide.Plan) int {
		w.controller.reporter.Written(s, plan)
		return len(w.rig.Recorded())
	}
	status := decide.Plan{Actions: []decide.Action{{Verb: decide.PatchStatus}}}
	for want, message := range []string{"for a reason", "for another one"} {
		plan := decide.Plan{Event: &field.Problem{Reason: "Waits", Message: message}}
		if again := toldBy(plan) + toldBy(status) + toldBy(plan); again != want {
			t.Errorf("%s: told %d times more, want %d", message, again, want)
		}
	}
	sum := 0
	for i := range 100 {
		sum += toldBy(decide.Plan{Event: &field.Problem{Reason: "Waits", Message: strconv.Itoa(i)}})
	}
	if sum == 0 || sum > 10 {
		t.Errorf("somebody who has it changed all the time makes %d events", sum)
	}
}

// TestToldOnce checks that a later connection does not soon repeat an event, unless the state was different
// meanwhile.
func TestToldOnce(t *testing.T) {
	lacking := func(w *world) { w.lacking = connection.RightMissing("list configmaps") }
	forbidden := func(w *world) {
		w.provider.Refuses = func(string, *corev1.ConfigMap) error {
			return apierrors.NewForbidden(enginetest.Resource, "settings", nil)
		}
	}
	refused := func(w *world) { w.consumer.Put(fixture.Local(fixture.Data("refuse", "x"))) }
	unmapped := func(w *world) { w.maps(builder.Map("eu").Obj()) }
	var all attempts.PerBinding[*attempts.Reported]
	fresh := func() *attempts.Reported { return &attempts.Reported{} }
	for i, connection := range []struct {
		is   func(*world)
		want []string
	}{
		{lacking, []string{"RightsMissing"}},
		{lacking, nil},
		{forbidden, []string{"Rejected"}},
		{forbidden, nil},
		{refused, []string{"Refused"}},
		{refused, nil},
		{unmapped, nil},
		{refused, []string{"Refused"}},
		{func(*world) {}, nil},
		{forbidden, []string{"Rejected"}},
		{func(w *world) {
			all.Retain(nil)
			w.share()
			w.rig.Reporter.Reported = all.Of("eu", "configmap", fresh)
			forbidden(w)
		}, []string{"Rejected"}},
	} {
		w := newWorld()
		w.share()
		w.rig.Reporter.Reported = all.Of("eu", "configmap", fresh)
		w.consumer.Put(fixture.Local())
		connection.is(w)
		w.reconcile(t)
		if diff := cmp.Diff(connection.want, w.rig.Recorded()); diff != "" {
			t.Errorf("connection %d tells (-want +got):\n%s", i+1, diff)
		}
	}
}

// TestToldAgain checks that an event is repeated, so an owner who looks the next day sees the cause, too.
func TestToldAgain(t *testing.T) {
	refuse := fixture.Data("refuse", "x")
	forbidden := func(string, *corev1.ConfigMap) error {
		return apierrors.NewForbidden(enginetest.Resource, "settings", nil)
	}
	for name, test := range map[string]struct {
		is   func(*world)
		want string
	}{
		"what is not sent":      {func(w *world) { w.consumer.Put(fixture.Local(refuse)) }, "Refused"},
		"what a provider rules": {func(w *world) { w.provider.Refuses = forbidden }, "Rejected"},
	} {
		w := newWorld()
		w.share()
		w.rig.Reporter.Reported = &attempts.Reported{}
		w.consumer.Put(fixture.Local())
		test.is(w)
		told := 0
		for range 60 {
			_, result := w.reconcile(t)
			if result.RequeueAfter == 0 || result.RequeueAfter > 30*time.Minute {
				t.Fatalf("%s: reconciled again after %v", name, result.RequeueAfter)
			}
			for _, reason := range w.rig.Recorded() {
				if told++; reason != test.want {
					t.Errorf("%s: told %s, want %s", name, reason, test.want)
				}
			}
			w.rig.Clock.Step(time.Minute)
		}
		if told != 3 {
			t.Errorf("%s: told %d times in an hour, want 3", name, told)
		}
	}
}

// TestToldOfTheOutcomeOnce checks that objects are enqueued once for the outcome of what they need, and again
// for a different problem.
func TestToldOfTheOutcomeOnce(t *testing.T) {
	w := newWorld()
	w.consumer.Put(fixture.Local(fixture.Sent))
	w.provider.Refuses = func(string, *corev1.ConfigMap) error {
		return apierrors.NewForbidden(enginetest.Resource, "settings", nil)
	}
	for range 3 {
		w.reconcile(t)
	}
	if w.told != 1 {
		t.Errorf("told %d times of a refusal", w.told)
	}
	w.provider.Refuses = nil
	w.rig.Clock.Step(time.Minute)
	w.reconcile(t)
	w.reconcile(t)
	if w.told != 2 {
		t.Errorf("told %d times in the end", w.told)
	}
}
