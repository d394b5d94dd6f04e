package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var settings = types.NamespacedName{Namespace: "team", Name: "settings"}

// remembered is what a snapshot takes from the memory.
type remembered struct {
	WaitingFor       string
	Waiting          time.Duration
	Held             bool
	Lost, Unanswered bool
	Refused          string
	ClusterID, Other string
	Now              time.Time
	Limits           bool
}

// TestObserveWhatIsRemembered checks that a snapshot has the memory of its object, and not of another object of
// that name.
func TestObserveWhatIsRemembered(t *testing.T) {
	now := builder.Epoch.Add(3 * time.Second)
	all := remembered{WaitingFor: "Rejected", Waiting: 3 * time.Second, Held: true, Lost: true, Unanswered: true, Refused: "Rejected",
		ClusterID: "eu", Other: "spillover", Now: now, Limits: true}
	for name, test := range map[string]struct {
		local, remote *corev1.ConfigMap
		change        func(*remembered)
	}{
		"it is not there": {fixture.Local(), nil, func(*remembered) {}},
		"it is there":     {fixture.Local(), fixture.Remote(), func(r *remembered) { r.Unanswered = false }},
		"another one": {fixture.Local(func(m *corev1.ConfigMap) { m.UID, m.ResourceVersion = "local-2", "8" }), nil,
			func(r *remembered) { r.Lost, r.Unanswered, r.Refused = false, false, "" }},
		"only the copy is left": {nil, fixture.Remote(), func(r *remembered) { r.Held, r.Lost, r.Unanswered, r.Refused = false, false, false, "" }},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(uses{})
			o.Kind.Selection = kind.OnVirtualNode
			o.Limits = func() *field.Limits { return &field.Limits{} }
			if test.local != nil {
				rig.View.Has = []client.Object{test.local}
			}
			if test.remote != nil {
				rig.Provider.Has = []client.Object{test.remote}
			}
			m := rig.Attempts
			problem := field.Problem{Reason: "Rejected", Message: "no"}
			m.Reconciled(settings, attempts.Reconciled{Problem: &problem})
			m.Change(settings, func(r *attempts.Record) { r.Lost = "local-1" })
			m.Change(settings, func(r *attempts.Record) { r.Unanswered = "local-1" })
			m.Refuse(settings, "5", decide.Refused{Verb: decide.Create, Problem: problem})
			for m.Sent.Wait("team") == 0 {
				m.Sent.Note(types.NamespacedName{Namespace: "team", Name: "other"}, "uid")
			}
			rig.Clock.Step(3 * time.Second)
			s, err := o.Observe(t.Context(), settings, m.Get(settings), nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.ClockSkew != time.Minute {
				t.Errorf("the provider's clock is ahead by %s", s.ClockSkew)
			}
			got := remembered{
				WaitingFor: s.WaitingFor, Waiting: s.Waiting, Held: s.SendBackoff > 0, Lost: s.Lost, Unanswered: s.Unanswered,
				ClusterID: s.ClusterID, Other: s.TargetFor("other").Namespace, Now: s.Now, Limits: s.Limits != nil,
			}
			if refused := s.RemoteStates[0].Refused; refused != nil {
				got.Refused = refused.Reason
			}
			want := all
			test.change(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestObserveWhatWasAnswered checks that a snapshot has the complete object, where the caches have a digest.
func TestObserveWhatWasAnswered(t *testing.T) {
	o, rig := observer(uses{[]decide.Destination{{Target: fixture.Target, Local: "team", Open: true}}, true})
	held := fixture.Held(fixture.Local(fixture.Sent))
	rig.View.Has, rig.SharedCache.Has = []client.Object{held}, []client.Object{held}
	made := []decide.AppliedAction{{Action: decide.Action{Verb: decide.Read, Side: decide.Local}, Response: fixture.Local(fixture.Sent)}}
	for name, test := range map[string]struct {
		selection kind.Selection
		want      string
	}{
		"of one that is pinned":     {kind.Referenced, "1"},
		"of one that is held whole": {kind.OnVirtualNode, held.Data["a"]},
	} {
		t.Run(name, func(t *testing.T) {
			o.Kind.Selection = test.selection
			s, err := o.Observe(t.Context(), settings, attempts.Record{}, made)
			if err != nil || s.Local.Data["a"] != test.want {
				t.Errorf("got %v, %v", s.Local, err)
			}
		})
	}
}

// fails answers every call with an error.
type fails struct {
	uses
	places, needs error
}

func (f fails) Destinations(ctx context.Context, of decide.Key) ([]decide.Destination, bool, error) {
	places, used, _ := f.uses.Destinations(ctx, of)
	return places, used, f.places
}

func (f fails) Needs(context.Context, decide.Key, []decide.Ref, decide.Destination) ([]decide.Need, error) {
	return nil, f.needs
}

// TestObserveFails checks that any error ends Observe, so nothing is decided on half a snapshot.
func TestObserveFails(t *testing.T) {
	broken := errors.New("the cache has stopped")
	home := uses{[]decide.Destination{{Target: fixture.Target, Local: "team", Open: true}}, true}
	for name, test := range map[string]struct {
		selection kind.Selection
		uses      Uses
		view      error
		provider  error
		remote    []client.Object
		want      bool
	}{
		"nothing does":                   {kind.Referenced, home, nil, nil, nil, false},
		"the view":                       {kind.Referenced, home, broken, nil, nil, true},
		"the provider's cache":           {kind.Referenced, home, nil, broken, nil, true},
		"what needs it":                  {kind.Referenced, fails{uses: home, places: broken}, nil, nil, nil, true},
		"what it needs":                  {kind.Referenced, fails{uses: home, needs: broken}, nil, nil, nil, true},
		"what one on the node needs":     {kind.OnVirtualNode, fails{needs: broken}, nil, nil, nil, true},
		"what one that is there needs":   {kind.OnVirtualNode, fails{needs: broken}, nil, nil, []client.Object{fixture.Remote()}, false},
		"what a copy that is there does": {kind.Referenced, fails{uses: home, needs: broken}, nil, nil, []client.Object{fixture.Remote()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(uses{})
			o.Kind.Selection, o.Uses = test.selection, test.uses
			o.Kind.Needs = func(*corev1.ConfigMap) []decide.Ref { return []decide.Ref{{Key: decide.Key{Kind: "secret"}}} }
			pinned := fixture.Local(fixture.Sent)
			rig.View.Has, rig.SharedCache.Has, rig.Provider.Has = []client.Object{pinned}, []client.Object{pinned}, test.remote
			rig.View.Err, rig.Provider.Err = test.view, test.provider
			if _, err := o.Observe(t.Context(), settings, attempts.Record{}, nil); errors.Is(err, broken) != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPlaces checks that an object that is sent because others need it is where those are.
func TestPlaces(t *testing.T) {
	home := decide.Destination{Target: fixture.Target, Local: "team", Open: true}
	mount := namespaces().Destination("other")
	mount.Local = "team"
	unmounted := func() *mapping.Mapping {
		return mapping.New(fixture.Mark, builder.Binding("eu").Obj(), builder.Map("eu").Accepted("team", "team-home").Obj(), mapping.LocalNamespaces{})
	}
	for name, test := range map[string]struct {
		selection kind.Selection
		uses      uses
		mapping   func() *mapping.Mapping
		onlyOne   bool
		remote    []client.Object
		err       error // Of the provider's cache.
		want      []string
		fails     bool
	}{
		"of two pods":                   {kind.Referenced, uses{[]decide.Destination{home, mount}, true}, namespaces, false, nil, nil, []string{"spillover", "team-home"}, false},
		"of none":                       {kind.Referenced, uses{}, namespaces, false, nil, nil, nil, false},
		"of two, and it can be in one":  {kind.Referenced, uses{[]decide.Destination{home, mount}, true}, namespaces, true, []client.Object{fixture.Remote()}, nil, []string{"team-home"}, false},
		"of two, and it is in none":     {kind.Referenced, uses{[]decide.Destination{home, mount}, true}, namespaces, true, nil, nil, []string{"spillover"}, false},
		"on the node":                   {kind.OnVirtualNode, uses{}, namespaces, false, nil, nil, []string{"team-home"}, false},
		"on the node, not checked":      {kind.OnVirtualNode, uses{}, unmounted, false, nil, errors.New("stopped"), []string{"team-home"}, false},
		"on the node, and it cannot be": {kind.OnVirtualNode, uses{}, namespaces, false, nil, errors.New("stopped"), nil, true},
		"in one place, and it fails":    {kind.Referenced, uses{[]decide.Destination{home}, true}, namespaces, true, nil, errors.New("stopped"), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(test.uses)
			o.Kind.Selection, o.Mapping = test.selection, test.mapping
			if test.onlyOne {
				o.Kind.For = func(m *corev1.ConfigMap) string { return m.Namespace }
			}
			pinned := fixture.Local(fixture.Sent)
			rig.View.Has, rig.SharedCache.Has, rig.Provider.Has, rig.Provider.Err = []client.Object{pinned}, []client.Object{pinned}, test.remote, test.err
			places, err := o.Destinations(t.Context(), settings)
			var got []string
			for _, place := range places {
				got = append(got, place.Namespace)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != test.fails {
				t.Errorf("%v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestAhead checks that IsStale notices writes in either cluster, at any of the object's destinations.
func TestAhead(t *testing.T) {
	mount := namespaces().Destination("other")
	in := func(namespace string) *corev1.ConfigMap {
		return fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace = namespace })
	}
	inMount := in("spillover")
	inMount.Name = mount.Name("team", "settings")
	for name, test := range map[string]struct {
		write func(*enginetest.Rig)
		want  bool
	}{
		"nothing was written":  {func(*enginetest.Rig) {}, false},
		"the object was":       {func(r *enginetest.Rig) { r.Locals.Expect(fixture.Local(fixture.Sent)) }, true},
		"its copy was":         {func(r *enginetest.Rig) { r.Remotes.Expect(in("team-home")) }, true},
		"its other copy was":   {func(r *enginetest.Rig) { r.Remotes.Expect(inMount) }, true},
		"a copy elsewhere was": {func(r *enginetest.Rig) { r.Remotes.Expect(in("left")) }, false},
		"another object was": {func(r *enginetest.Rig) {
			r.Locals.Expect(fixture.Local(func(m *corev1.ConfigMap) { m.Name = "other" }))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, rig := observer(uses{})
			o.Kind.Selection = kind.OnVirtualNode
			test.write(rig)
			s := fixture.Observed(fixture.Local(), nil)
			s.RemoteStates = append(s.RemoteStates, decide.RemoteState[*corev1.ConfigMap]{Destination: mount})
			if got := o.IsStale(s); got != test.want {
				t.Errorf("ahead: %t", got)
			}
		})
	}
}
