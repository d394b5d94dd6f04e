package decide_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

var (
	mounted = field.Target{Mark: fixture.Mark, Namespace: "spillway-mount", Hashed: true}
	// inBoth are the locations of settings, if pods need it in the remote namespace and in the mount namespace.
	inBoth  = "spillway-mount/" + mounted.Name("team", "settings") + ",team-home/settings"
	inMount = fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace, m.Name = "spillway-mount", mounted.Name("team", "settings") })
)

// lacking returns the lack of a right, or no lack for "".
func lacking(right string) connection.Unreadable {
	if right == "" {
		return connection.Unreadable{}
	}
	return connection.RightMissing(right)
}

func site(target field.Target, remote *corev1.ConfigMap) decide.RemoteState[*corev1.ConfigMap] {
	return decide.RemoteState[*corev1.ConfigMap]{Destination: decide.Destination{Target: target, Local: "team", Open: true}, Wanted: true, Remote: remote}
}

func at(sites ...decide.RemoteState[*corev1.ConfigMap]) func(*fixture.Snapshot) {
	return func(s *fixture.Snapshot) { s.RemoteStates = sites }
}

// TestAssess tests what a pod waits for, and the message.
func TestAssess(t *testing.T) {
	const ready = "" // The reason of a ready need.
	sent := fixture.Local(fixture.Sent)
	both := fixture.Local(fixture.SentTo("eu", inBoth))
	for name, test := range map[string]struct {
		in              fixture.Snapshot
		title           string
		right           string
		place           string
		reason, message string
		ifOptional      bool // Whether an optional object counts as ready.
		plan            []string
	}{
		"it does not exist":  {in: fixture.Wanted(nil, nil), reason: "ReferenceNotFound", message: "ConfigMap team/settings does not exist", ifOptional: true},
		"only its copy does": {in: fixture.Wanted(nil, fixture.Remote()), reason: "ReferenceNotFound", message: "ConfigMap team/settings does not exist", ifOptional: true},
		"it may be a token": {in: fixture.Wanted(nil, nil), title: "Secret", reason: "ReferenceNotFound",
			message: "Secret team/settings does not exist, or is a token, which is never sent", ifOptional: true},
		"a right is missing": {in: fixture.Wanted(sent, fixture.Remote()), right: "list configmaps", reason: "RightsMissing",
			message: "ConfigMap team/settings cannot be sent: provider eu does not let Spillway list configmaps", ifOptional: true},
		"it is there":    {in: fixture.Wanted(sent, fixture.Remote()), reason: ready},
		"it is not":      {in: fixture.Wanted(sent, nil), reason: "ReferenceNotSynced", message: "ConfigMap team/settings is being sent to the provider", plan: []string{"create in the provider team-home/settings map[a:1]"}},
		"it has changed": {in: fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote()), reason: "ReferenceNotSynced", message: "ConfigMap team/settings is being sent to the provider", plan: []string{"patch in the provider team-home/settings map[a:2]"}},
		"it is refused": {in: fixture.Wanted(sent, nil, backingOff), reason: "Rejected", message: "ConfigMap team/settings: no",
			ifOptional: true, plan: []string{"problem Rejected", "again after 1m0s"}},
		"it may never be sent": {in: fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("refuse", "x")), nil), reason: "Refused", message: "ConfigMap team/settings: it says so",
			ifOptional: true, plan: []string{"problem Refused"}},
		"its owner keeps it": {in: fixture.Wanted(fixture.Local(fixture.KeptHome), nil), reason: "SyncNever",
			message: "ConfigMap team/settings has spillway.io/sync=never, so it is not sent to any provider", ifOptional: true},
		"its namespace closes":                  {in: fixture.Wanted(fixture.Local(), nil, closing), reason: "Closing", message: "ConfigMap team/settings: too late"},
		"its namespace closes, and it is there": {in: fixture.Wanted(sent, fixture.Remote(), closing), reason: ready},
		"its namespace is not ready":            {in: fixture.Wanted(fixture.Local(), nil, unopened), reason: "NotYet", message: "ConfigMap team/settings: wait", plan: []string{"problem NotYet"}},
		"it is in both places":                  {in: fixture.Wanted(both, nil, at(site(mounted, inMount), site(fixture.Target, fixture.Remote()))), reason: ready},
		"it is in the other place only": {in: fixture.Wanted(both, nil, at(site(mounted, inMount), site(fixture.Target, nil))), reason: "ReferenceNotSynced",
			message: "ConfigMap team/settings is being sent to the provider", plan: []string{"create in the provider team-home/settings map[a:1]"}},
		"the other place lacks it": {in: fixture.Wanted(both, nil, at(site(mounted, nil), site(fixture.Target, fixture.Remote()))), reason: ready},
		"it is elsewhere": {in: fixture.Wanted(sent, nil, at(site(fixture.Target, fixture.Remote()))), place: "spillway-mount", reason: "ReferenceNotSynced",
			message: "ConfigMap team/settings is used by pods in namespace team-home of the provider; it moves to namespace spillway-mount when they end"},
		"an older one is there": {in: fixture.Wanted(sent, nil, func(s *fixture.Snapshot) { s.Duplicates = []*corev1.ConfigMap{fixture.Remote()} }), reason: "Replacing",
			message: "ConfigMap team/settings: team-home/settings in the provider belongs to an older object of this name, and is being deleted",
			plan:    []string{"delete in the provider UID remote-1", "problem Replacing"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, optional := range []bool{false, true} {
				title, place := "ConfigMap", "team-home"
				if test.title != "" {
					title = test.title
				}
				if test.place != "" {
					place = test.place
				}
				ref := decide.Ref{Key: decide.Key{Kind: "configmap", NamespacedName: types.NamespacedName{Namespace: "team", Name: "settings"}}, Optional: optional}
				want := decide.Need{Kind: "configmap", NamespacedName: ref.NamespacedName, Problem: field.Problem{Reason: test.reason, Message: test.message}}
				want.Ready = test.reason == ready || optional && test.ifOptional
				need, plan := decide.Assess(fixture.Of(test.in), fixture.Copies, ref, title, place, lacking(test.right))
				if diff := cmp.Diff(want, need); diff != "" {
					t.Errorf("optional %t: need (-want +got):\n%s", optional, diff)
				}
				if diff := cmp.Diff(test.plan, planInWords(plan)); diff != "" {
					t.Errorf("optional %t: plan (-want +got):\n%s", optional, diff)
				}
			}
		})
	}
}

// TestTwoRefusals checks that two refusals are reported together, and that the one due first is tried first.
func TestTwoRefusals(t *testing.T) {
	refused := func(target field.Target, remote *corev1.ConfigMap, message string, wait time.Duration) decide.RemoteState[*corev1.ConfigMap] {
		s := site(target, remote)
		s.Refused = &decide.Refused{Problem: field.Problem{Reason: "Rejected", Message: message}, Verb: decide.Patch, In: target.Namespace, Wait: wait}
		return s
	}
	local := fixture.Local(fixture.SentTo("eu", inBoth), fixture.Data("a", "2"))
	for name, waits := range map[string][2]time.Duration{"the first": {30 * time.Second, time.Minute}, "the second": {time.Minute, 30 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			s := fixture.Wanted(local, nil, at(refused(mounted, inMount, "no", waits[0]), refused(fixture.Target, fixture.Remote(), "never", waits[1])))
			want := decide.Plan{Problem: &field.Problem{Reason: "Rejected", Message: "no; never"}, RetryAfter: 30 * time.Second}
			if diff := cmp.Diff(want, decide.Next(fixture.Of(s), fixture.Copies)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// naming is a kind whose objects name other objects in their own and in other namespaces.
type naming struct {
	fixture.Plain
	went map[string]string
}

func (n naming) Remote(local *corev1.ConfigMap, t field.Target, around decide.Inputs) (*corev1.ConfigMap, *field.Problem) {
	for _, namespace := range []string{"team", "other"} {
		n.went[namespace] = around.TargetFor(namespace).Namespace
	}
	return n.Plain.Remote(local, t, around)
}

// TestElsewhere checks that objects in the same namespace are expected at the same destination.
func TestElsewhere(t *testing.T) {
	went := map[string]string{}
	s := fixture.Wanted(fixture.Local(fixture.Sent), nil, func(s *fixture.Snapshot) {
		s.Destination.Local = "team"
		s.TargetFor = func(namespace string) field.Target { return field.Target{Namespace: namespace + "-elsewhere"} }
	})
	decide.Next(fixture.Of(s), decide.NewCopies(naming{went: went}, func() *corev1.ConfigMap { return &corev1.ConfigMap{} }))
	if diff := cmp.Diff(map[string]string{"team": "team-home", "other": "other-elsewhere"}, went); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPasses tests the refusals that may end without a change by the object's owner.
func TestPasses(t *testing.T) {
	for reason, want := range map[string]bool{"ServerError": true, "OverBudget": true, "Rejected": false, "": false} {
		if got := (&decide.Refused{Problem: field.Problem{Reason: reason}}).IsTransient(); got != want {
			t.Errorf("%q: %t", reason, got)
		}
	}
}

// TestLocation checks that the name of a cluster-scoped object has no slash.
func TestLocation(t *testing.T) {
	for want, name := range map[string]types.NamespacedName{"team/a": {Namespace: "team", Name: "a"}, "disk": {Name: "disk"}} {
		if got := field.Location(name); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (decide.Ref{Key: decide.Key{Kind: "secret", NamespacedName: types.NamespacedName{Namespace: "team", Name: "a"}}}).String(); got != "secret/team/a" {
		t.Errorf("got %q", got)
	}
}

// TestOf checks that a message which names its object does not name it twice.
func TestOf(t *testing.T) {
	for message, want := range map[string]string{
		"the name is taken":               "Claim team/disk: the name is taken",
		"Claim disk: spec is set":         "Claim team/disk: spec is set",
		"Claim disk is not bound":         "Claim team/disk is not bound",
		"Claim disk-2 has it":             "Claim team/disk: Claim disk-2 has it",
		"Volume disk is not bound to one": "Claim team/disk: Volume disk is not bound to one",
	} {
		if got := (field.Problem{Message: message}).Of("Claim", types.NamespacedName{Namespace: "team", Name: "disk"}).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestIsPinned(t *testing.T) {
	for name, test := range map[string]struct {
		change fixture.Option
		want   bool
	}{
		"pinned":                {fixture.Sent, true},
		"for another provider":  {fixture.SentTo("us", "x/y"), false},
		"not at all":            {func(*corev1.ConfigMap) {}, false},
		"without the label":     {func(m *corev1.ConfigMap) { fixture.Sent(m); m.Labels = nil }, true},
		"without the finalizer": {func(m *corev1.ConfigMap) { fixture.Sent(m); m.Finalizers = nil }, true},
		"with a place only":     {func(m *corev1.ConfigMap) { fixture.Sent(m); m.Labels, m.Finalizers = nil, nil }, false},
	} {
		if got := decide.IsProtected(fixture.Local(test.change), "eu"); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestCopyMetadata checks that the metadata which the engine uses is copied, and that nothing is shared.
func TestCopyMetadata(t *testing.T) {
	from := fixture.Local(fixture.Sent, fixture.Going)
	want := metav1.PartialObjectMetadata{ObjectMeta: *from.ObjectMeta.DeepCopy()}
	from.Generation, from.GenerateName = 7, "settings-"
	var got metav1.PartialObjectMetadata
	decide.CopyMetadata(&got, from)
	from.Labels["a"], from.Annotations["b"], from.Finalizers[0] = "c", "d", "e"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAssessPreceding tests objects without which a pod must not run.
func TestAssessPreceding(t *testing.T) {
	elsewhere := func(s *fixture.Snapshot) { s.Destination.Namespace = "spillway-mount" }
	const beingSent = "NetworkPolicyPending: ConfigMap team/settings is being sent to the provider"
	const stillThere = "NetworkPolicyPending: ConfigMap team/settings is no longer sent, but the remote object is not deleted yet"
	for name, test := range map[string]struct {
		in          fixture.Snapshot
		right, want string
	}{
		"it is there":                     {in: fixture.Wanted(fixture.Local(), fixture.Remote())},
		"it is not":                       {in: fixture.Wanted(fixture.Local(), nil), want: beingSent},
		"it has changed":                  {in: fixture.Wanted(fixture.Local(fixture.Data("a", "2")), fixture.Remote()), want: beingSent},
		"it is refused there":             {in: fixture.Wanted(fixture.Local(), nil, backingOff), want: "NetworkPolicyPending: ConfigMap team/settings: no"},
		"it may never be sent":            {in: fixture.Wanted(fixture.Local(fixture.Data("refuse", "x")), nil), want: "NetworkPolicyPending: ConfigMap team/settings: it says so"},
		"an older copy is there":          {in: fixture.Wanted(fixture.Local(fixture.Data("refuse", "x")), fixture.Remote()), want: "NetworkPolicyPending: ConfigMap team/settings: it says so"},
		"a right is missing":              {in: fixture.Wanted(fixture.Local(), nil), right: "list configmaps", want: "NetworkPolicyPending: ConfigMap team/settings cannot be sent: provider eu does not let Spillway list configmaps"},
		"its owner keeps it":              {in: fixture.Wanted(fixture.Local(fixture.KeptHome), nil), right: "list configmaps"},
		"it is not on the list":           {in: fixture.Wanted(fixture.Local(), nil, fixture.Unwanted)},
		"it goes, and still holds":        {in: fixture.Wanted(fixture.Local(fixture.Going), nil), want: beingSent},
		"it goes, and is there":           {in: fixture.Wanted(fixture.Local(fixture.Going), fixture.Remote())},
		"it is gone":                      {in: fixture.Wanted(nil, nil)},
		"it is gone, and its copy is not": {in: fixture.Wanted(nil, fixture.Remote()), want: stillThere},
		"it is unlisted, its copy there":  {in: fixture.Wanted(fixture.Local(), fixture.Remote(), fixture.Unwanted), want: stillThere},
		"it is kept, its copy is there":   {in: fixture.Wanted(fixture.Local(fixture.KeptHome), fixture.Remote()), want: stillThere},
		"it is unlisted, without a right": {in: fixture.Wanted(fixture.Local(), fixture.Remote(), fixture.Unwanted), right: "list configmaps",
			want: stillThere + "; provider eu does not let Spillway list configmaps, so its administrator must delete it there"},
		"its copy is in another place":    {in: fixture.Wanted(nil, fixture.Remote(func(m *corev1.ConfigMap) { m.Namespace = "spillway-mount" }))},
		"the pod is in another place":     {in: fixture.Wanted(fixture.Local(), nil, elsewhere)},
		"its copy is being made anew":     {in: fixture.Wanted(fixture.Local(), fixture.Remote(fixture.Going)), want: "NetworkPolicyPending: ConfigMap team/settings: the remote object is being deleted; Spillway recreates it when it is gone"},
		"an older object's is in its way": {in: fixture.Wanted(fixture.Local(), nil, func(s *fixture.Snapshot) { s.Duplicates = []*corev1.ConfigMap{fixture.Remote()} }), want: "NetworkPolicyPending: ConfigMap team/settings: team-home/settings in the provider belongs to an older object of this name, and is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			test.in.Known = true
			syncer := decide.NewMapped(decide.Translation[*corev1.ConfigMap](keeping{}))
			need, _ := decide.AssessPreceding(fixture.Of(test.in), syncer, decide.Ref{Key: decide.Key{Kind: "configmap", NamespacedName: test.in.Key}}, "ConfigMap", "team-home", lacking(test.right))
			if need.Ready != (test.want == "") {
				t.Errorf("ready: %t", need.Ready)
			}
			if got := need.Problem.Reason + ": " + need.Problem.Message; !need.Ready && got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
