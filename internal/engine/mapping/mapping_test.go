package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// testWorld has an offloading of each namespace. The offloading of the namespace waiting selects every
// binding.
var testWorld = LocalNamespaces{
	ManagerNamespace: "spillway-system",
	Selects:          func(_ *v1alpha1.ClusterBinding, namespace string) bool { return namespace == "waiting" },
	Offloading:       func(namespace string) *v1alpha1.NamespaceOffloading { return builder.Offloading(namespace).Obj() },
	IsTerminating:    func(string) bool { return false },
}

func TestPlace(t *testing.T) {
	mount := func() *builder.BindingBuilder { return builder.Binding("eu").MountNamespace("spillover") }
	mounted := mount().Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "").Obj()
	taken := mount().Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonNameConflict, "not ours").Obj()
	plain := builder.Binding("eu").Obj()
	none := builder.Map("eu").Obj()
	at := func(namespace string) field.Target {
		return field.Target{Mark: fixture.Mark, Namespace: namespace}
	}
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		nsm     *v1alpha1.NamespaceMap
		want    decide.Destination // Of its Problem, only the reason is compared.
	}{
		"there": {plain, builder.Map("eu").Desired("team", "team-home").Current("team", "team-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(), decide.Destination{Target: at("team-home"), Open: true}},
		"asked for": {plain, builder.Map("eu").Desired("team", "team-home").Obj(),
			decide.Destination{Target: at("team-home"), Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"somebody else's": {plain, builder.Map("eu").Desired("team", "team-home").Current("team", "team-home", v1alpha1.MappingCreationLoopBackOff, "NameConflict", "not ours").Obj(),
			decide.Destination{Target: at("team-home"), Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"there under another name": {plain, builder.Map("eu").Desired("team", "team-new").Current("team", "team-old", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			decide.Destination{Target: at("team-new"), Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"its entry has been taken out of the map": {plain, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			decide.Destination{Target: at("team-home"), Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not asked for any more": {plain, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "").Obj(),
			decide.Destination{Target: at("team-home"), Leaving: true, Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not asked for any more, and a mount namespace": {mounted, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "").Obj(),
			decide.Destination{Target: at("team-home"), Leaving: true, Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not mapped": {plain, builder.Map("eu").Current("other", "other-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			decide.Destination{Target: at(""), Leaving: true, Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotOffloaded}}},
		"not mapped, and a mount namespace": {mounted, none, decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "spillover", Hashed: true}, Open: true}},
		"not mapped, and the mount namespace is somebody else's": {taken, none,
			decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "spillover", Hashed: true}, Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not mapped, and nothing is known of the mount namespace": {mount().Obj(), none,
			decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "spillover", Hashed: true}, Problem: field.Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"mapped, and a mount namespace": {mounted, builder.Map("eu").Desired("team", "team-home").Current("team", "team-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(), decide.Destination{Target: at("team-home"), Open: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(fixture.Mark, test.binding, test.nsm, testWorld).Destination("team")
			if got.Local != "team" {
				t.Errorf("it is the place of %q", got.Local)
			}
			got.Local = ""
			if (got.Problem.Reason == "") != (got.Problem.Message == "") {
				t.Errorf("a problem has both a reason and a message: %+v", got.Problem)
			}
			got.Problem.Message = ""
			if got.Open {
				got.Problem = field.Problem{} // It is not compared.
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("place (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMapped tests objects that are sent because of their namespace: where they go, whether they should be
// there, and when nothing is decided about them.
func TestMapped(t *testing.T) {
	const other = v1alpha1.OffloadedResource("Others")
	type mapped struct {
		Namespace             string
		Wanted, Open, Leaving bool
	}
	drains := func(reason string) *v1alpha1.ClusterBinding {
		return builder.Binding("eu").Deleted(0).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, reason, "").Obj()
	}
	plain, mounted := builder.Binding("eu").Obj(), builder.Binding("eu").MountNamespace("spillover").
		Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "").Obj()
	there := builder.Map("eu").Accepted("team", "team-home").Obj()
	left := func(phase v1alpha1.MappingPhase) *v1alpha1.NamespaceMap {
		return builder.Map("eu").Current("team", "team-home", phase, "", "").Obj()
	}
	known := func(change func(*v1alpha1.NamespaceOffloading)) LocalNamespaces {
		w := testWorld
		w.Offloading = func(namespace string) *v1alpha1.NamespaceOffloading {
			nso := builder.Offloading(namespace).Obj()
			change(nso)
			return nso
		}
		return w
	}
	unknown, ends := testWorld, testWorld
	unknown.Offloading = func(string) *v1alpha1.NamespaceOffloading { return nil }
	ends.IsTerminating = func(string) bool { return true }
	sends := func(all ...v1alpha1.OffloadedResource) LocalNamespaces {
		return known(func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.Resources = append([]v1alpha1.OffloadedResource{}, all...)
		})
	}
	goes := known(func(nso *v1alpha1.NamespaceOffloading) { nso.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} })
	for name, test := range map[string]struct {
		binding  *v1alpha1.ClusterBinding
		nsm      *v1alpha1.NamespaceMap
		world    LocalNamespaces
		resource v1alpha1.OffloadedResource
		want     mapped
	}{
		"mapped":                          {plain, there, testWorld, v1alpha1.OffloadedServices, mapped{"team-home", true, true, false}},
		"mapped, and nobody chooses":      {plain, there, sends(), "", mapped{"team-home", true, true, false}},
		"the kind is listed":              {plain, there, sends(other), other, mapped{"team-home", true, true, false}},
		"it is not":                       {plain, there, sends(other), v1alpha1.OffloadedServices, mapped{"team-home", false, true, false}},
		"none is":                         {plain, there, sends(), v1alpha1.OffloadedServices, mapped{"team-home", false, true, false}},
		"none is by default":              {plain, there, testWorld, other, mapped{"team-home", false, true, false}},
		"the list is not known":           {plain, there, unknown, v1alpha1.OffloadedServices, mapped{"team-home", true, false, false}},
		"the offloading goes":             {plain, there, goes, v1alpha1.OffloadedServices, mapped{"team-home", true, true, true}},
		"the namespace goes":              {plain, there, ends, v1alpha1.OffloadedServices, mapped{"team-home", true, true, true}},
		"asked for":                       {plain, builder.Map("eu").Desired("team", "team-home").Obj(), sends(), v1alpha1.OffloadedServices, mapped{"team-home", true, false, false}},
		"its entry has been taken out":    {plain, left(v1alpha1.MappingAccepted), testWorld, "", mapped{"team-home", true, false, false}},
		"the remote namespace goes":       {plain, left(v1alpha1.MappingTerminating), goes, "", mapped{"team-home", true, false, true}},
		"no map":                          {plain, nil, testWorld, "", mapped{"", true, false, false}},
		"not mapped":                      {plain, builder.Map("eu").Obj(), testWorld, "", mapped{"", false, false, false}},
		"mounted":                         {mounted, builder.Map("eu").Obj(), testWorld, "", mapped{"", false, false, false}},
		"the pods of the binding leave":   {drains(v1alpha1.ReasonEvictingPods), there, testWorld, "", mapped{"team-home", true, true, false}},
		"its copies are deleted":          {drains(v1alpha1.ReasonDeletingCopies), there, testWorld, "", mapped{"team-home", true, false, true}},
		"its remote namespaces are":       {drains(v1alpha1.ReasonDeletingNamespaces), left(v1alpha1.MappingTerminating), testWorld, "", mapped{"team-home", true, false, true}},
		"and they are gone":               {drains(v1alpha1.ReasonDeletingNamespaces), builder.Map("eu").Obj(), testWorld, "", mapped{"", true, false, false}},
		"the binding's provider is away":  {drains(v1alpha1.ReasonProviderUnreachable), there, testWorld, "", mapped{"team-home", true, true, false}},
		"an entry of the mount namespace": {mounted, there, testWorld, "", mapped{"team-home", true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(fixture.Mark, test.binding, test.nsm, test.world)
			place, wanted := m.Mapped("team", test.resource)
			if diff := cmp.Diff(test.want, mapped{place.Namespace, wanted, place.Open, place.Leaving}); diff != "" || place.Local != "team" || place.Hashed {
				t.Errorf("of %q, hashed %t (-want +got):\n%s", place.Local, place.Hashed, diff)
			}
		})
	}
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		nsm     *v1alpha1.NamespaceMap
		world   LocalNamespaces
		want    bool
	}{
		"mapped":                    {plain, there, testWorld, true},
		"the offloading goes":       {plain, there, goes, true}, // The pods still serve.
		"the list is not known":     {plain, there, unknown, true},
		"asked for":                 {plain, builder.Map("eu").Desired("team", "team-home").Obj(), sends(), true},
		"the remote namespace goes": {plain, left(v1alpha1.MappingTerminating), goes, false},
		"no map":                    {plain, nil, testWorld, true},
		"not mapped":                {plain, builder.Map("eu").Obj(), testWorld, false},
		"its copies are deleted":    {drains(v1alpha1.ReasonDeletingCopies), there, testWorld, false},
		"and of what is not mapped": {drains(v1alpha1.ReasonDeletingCopies), builder.Map("eu").Obj(), testWorld, false},
	} {
		if got := MayBeInUse(New(fixture.Mark, test.binding, test.nsm, test.world), "team", ""); got != test.want {
			t.Errorf("%s: it holds: %t", name, got)
		}
	}
	waits := New(fixture.Mark, plain, builder.Map("eu").Obj(), testWorld)
	if place, wanted := waits.Mapped("waiting", ""); !wanted || place.Open {
		t.Errorf("one that is to be mapped: wanted %t, open %t", wanted, place.Open)
	}
}

// TestConcerns checks that objects of namespaces outside the map are ignored.
func TestConcerns(t *testing.T) {
	m := New(fixture.Mark, builder.Binding("eu").Obj(), builder.Map("eu").Desired("asked", "a").Current("left", "b", v1alpha1.MappingTerminating, "", "").Obj(), testWorld)
	got := map[string]bool{}
	for _, namespace := range []string{"asked", "left", "other"} {
		got[namespace] = m.Concerns(namespace)
	}
	if diff := cmp.Diff(map[string]bool{"asked": true, "left": true, "other": false}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffering(t *testing.T) {
	binding := builder.Binding("eu").Obj()
	before := New(fixture.Mark, binding, builder.Map("eu").
		Desired("same", "same").Current("same", "same", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Desired("arrives", "arrives").
		Desired("leaves", "leaves").Current("leaves", "leaves", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Current("goes", "goes", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(), testWorld)
	after := New(fixture.Mark, binding, builder.Map("eu").
		Desired("same", "same").Current("same", "same", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Desired("arrives", "arrives").Current("arrives", "arrives", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Current("leaves", "leaves", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Desired("comes", "comes").Obj(), testWorld)
	got := map[string]bool{}
	for _, namespace := range before.Differing(after) {
		if got[namespace] {
			t.Errorf("%s is listed twice", namespace)
		}
		got[namespace] = true
	}
	want := map[string]bool{"arrives": true, "leaves": true, "goes": true, "comes": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differing (-want +got):\n%s", diff)
	}
}

// TestPlaceIsNotMountedYet checks that objects of a namespace that may still be mapped wait. Objects that are
// never sent do not go to the mount namespace either.
func TestPlaceIsNotMountedYet(t *testing.T) {
	mounted := builder.Binding("eu").MountNamespace("spillover").
		Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "").Obj()
	leaving := mounted.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: builder.Epoch}
	empty := builder.Map("eu").Obj()
	for name, test := range map[string]struct {
		binding       *v1alpha1.ClusterBinding
		nsm           *v1alpha1.NamespaceMap
		namespace     string
		open, leaving bool
		reason        string
	}{
		"no map":                                {mounted, nil, "team", false, false, "NamespaceNotReady"},
		"no map, and no mount namespace":        {builder.Binding("eu").Obj(), nil, "team", false, false, "NamespaceNotReady"},
		"an entry is to come":                   {mounted, empty, "waiting", false, false, "NamespaceNotReady"},
		"and none comes to a binding that goes": {leaving, empty, "waiting", true, false, ""},
		"nothing selects the binding":           {mounted, empty, "team", true, false, ""},
		"of the cluster":                        {mounted, empty, "kube-system", false, true, "NamespaceNeverOffloaded"},
		"of the manager":                        {mounted, empty, "spillway-system", false, true, "NamespaceNeverOffloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(fixture.Mark, test.binding, test.nsm, testWorld).Destination(test.namespace)
			if got.Open {
				got.Problem = field.Problem{}
			}
			if got.Open != test.open || got.Leaving != test.leaving || got.Problem.Reason != test.reason {
				t.Errorf("open %t, leaving %t, %+v", got.Open, got.Leaving, got.Problem)
			}
		})
	}
}

// TestPlaceIn checks that remote objects keep their destination, wherever their namespace goes now.
func TestPlaceIn(t *testing.T) {
	mounted := builder.Binding("eu").MountNamespace("spillover").
		Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "").Obj()
	mapped := New(fixture.Mark, mounted, builder.Map("eu").Accepted("team", "team-home").Obj(), testWorld)
	for name, test := range map[string]struct {
		in   *Mapping
		at   string
		want decide.Destination // Without its Problem.
	}{
		"mapped":                    {mapped, "team-home", decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "team-home"}, Local: "team", Open: true}},
		"mounted before":            {mapped, "spillover", decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "spillover", Hashed: true}, Local: "team", Open: true}},
		"mapped to another before":  {mapped, "team-old", decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "team-old"}, Local: "team"}},
		"there, and no map is seen": {New(fixture.Mark, mounted, nil, testWorld), "team-home", decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "team-home"}, Local: "team"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.in.DestinationIn("team", test.at)
			got.Problem = field.Problem{}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("place (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlaceSaysWhy checks the reasons why a requested namespace is not ready.
func TestPlaceSaysWhy(t *testing.T) {
	asked := func() *builder.MapBuilder { return builder.Map("eu").Desired("team", "team-home") }
	for want, nsm := range map[string]*builder.MapBuilder{
		"namespace team-home in provider eu does not exist yet":                                               asked(),
		"namespace team-home in provider eu is CreationLoopBackOff (NameConflict): not ours":                  asked().Current("team", "team-home", v1alpha1.MappingCreationLoopBackOff, "NameConflict", "not ours"),
		"namespace team-home in provider eu is Terminating (NamespaceTerminating)":                            asked().Current("team", "team-home", v1alpha1.MappingTerminating, "NamespaceTerminating", ""),
		"namespace left in provider eu is being deleted, because namespace team is no longer offloaded there": builder.Map("eu").Current("team", "left", v1alpha1.MappingTerminating, "NotRequired", ""),
	} {
		place := New(fixture.Mark, builder.Binding("eu").Obj(), nsm.Obj(), testWorld).Destination("team")
		if diff := cmp.Diff(field.Problem{Reason: "NamespaceNotReady", Message: want}, place.Problem); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	gone := New(fixture.Mark, builder.Binding("eu").Obj(), asked().Obj(), testWorld).DestinationIn("team", "old")
	want := decide.Destination{Target: field.Target{Mark: fixture.Mark, Namespace: "old"}, Local: "team", Problem: field.Problem{Reason: "NamespaceNotReady",
		Message: "namespace old in provider eu is being deleted, because namespace team is no longer offloaded there"}}
	if diff := cmp.Diff(want, gone); diff != "" {
		t.Errorf("where it was before (-want +got):\n%s", diff)
	}
}

// TestPlaces checks all destinations where objects of a namespace may be, and where they find what they need.
func TestPlaces(t *testing.T) {
	accepted := builder.Map("eu").Accepted("team", "team-home").Obj()
	for name, test := range map[string]struct {
		mount     string
		namespace string
		want      []string
	}{
		"mapped":                        {"", "team", []string{"team-home"}},
		"mapped, and a mount namespace": {"spillover", "team", []string{"team-home", "spillover"}},
		"mounted":                       {"spillover", "other", []string{"spillover"}},
		"nowhere":                       {"", "other", []string{""}},
	} {
		m := New(fixture.Mark, builder.Binding("eu").MountNamespace(test.mount).Obj(), accepted, testWorld)
		var got []string
		for _, place := range m.Destinations(test.namespace) {
			got = append(got, place.Namespace)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	m := New(fixture.Mark, builder.Binding("eu").MountNamespace("spillover").Obj(), accepted, testWorld)
	at := m.Destination("other")
	for namespace, want := range map[string]string{"": "spillover", "other": "spillover", "team": "team-home"} {
		if got := m.Resolve(at, namespace).Namespace; got != want {
			t.Errorf("what is needed in namespace %q is in %q, want %q", namespace, got, want)
		}
	}
}

// TestWith checks that With* changes one part, and does not modify the original mapping.
func TestWith(t *testing.T) {
	eu, mounted := builder.Binding("eu").Obj(), builder.Binding("eu").MountNamespace("spillover").Obj()
	unknown := New(fixture.Mark, eu, nil, testWorld)
	mapped := unknown.WithMap(builder.Map("eu").Accepted("team", "team-home").Obj())
	if unknown.Known() || !mapped.Known() || mapped.Destination("team").Namespace != "team-home" || mapped.Binding() != eu {
		t.Errorf("with a map: %+v", mapped.Destination("team"))
	}
	other := mapped.WithBinding(mounted)
	if other.Binding() != mounted || mapped.Binding() != eu || other.Destination("team").Namespace != "team-home" || other.Destination("x").Namespace != "spillover" {
		t.Errorf("with another binding: %+v", other.Destination("x"))
	}
}
