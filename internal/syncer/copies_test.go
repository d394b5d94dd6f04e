package syncer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/internal/translate"
)

// plain is the simplest Translation: the copy has the data of the local object.
type plain struct{ Namespaced }

func (plain) Remote(local *corev1.ConfigMap, t translate.Target, _ func(string) translate.Target) (*corev1.ConfigMap, *translate.Refusal) {
	if local.Data["refuse"] != "" {
		return nil, &translate.Refusal{Reason: "Refused", Message: "it says so"}
	}
	return &corev1.ConfigMap{ObjectMeta: translate.Metadata(local, t), Data: local.Data}, nil
}

func (plain) Merge(desired, remote *corev1.ConfigMap) (*corev1.ConfigMap, bool) {
	if cmp.Equal(desired.Data, remote.Data) {
		return remote, false
	}
	merged := remote.DeepCopy()
	merged.Data = desired.Data
	return merged, remote.Data["frozen"] != ""
}

var (
	testMark   = provenance.Mark{Origin: "home", ClusterID: "eu"}
	testTarget = translate.Target{Mark: testMark, Namespace: "team-home"}
	testCopies = copies[*corev1.ConfigMap]{Translation: plain{}, fresh: func() *corev1.ConfigMap { return &corev1.ConfigMap{} }}
)

type configMapOption = func(*corev1.ConfigMap)

func localMap(options ...configMapOption) *corev1.ConfigMap {
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "settings", UID: "local-1", ResourceVersion: "5"},
		Data:       map[string]string{"a": "1"},
	}
	for _, option := range options {
		option(m)
	}
	return m
}

func remoteMap(options ...configMapOption) *corev1.ConfigMap {
	m, _ := plain{}.Remote(localMap(), testTarget, nil)
	m.UID, m.ResourceVersion = "remote-1", "9"
	for _, option := range options {
		option(m)
	}
	return m
}

func sentTo(clusterID, place string) configMapOption {
	return func(m *corev1.ConfigMap) {
		m.Labels = with(m.Labels, v1alpha1.LabelSyncedTo+clusterID, "true")
		m.Annotations = with(m.Annotations, v1alpha1.AnnotationRemote+clusterID, place)
		m.Finalizers = append(m.Finalizers, v1alpha1.FinalizerSync+clusterID)
	}
}

var sent = sentTo("eu", "team-home/settings")

func data(pairs ...string) configMapOption {
	return func(m *corev1.ConfigMap) {
		m.Data = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m.Data[pairs[i]] = pairs[i+1]
		}
	}
}

// TestCopiesWithhold is about annotations of an object that the provider does not let
// in: a new copy has none of them, and one that has some keeps it.
func TestCopiesWithhold(t *testing.T) {
	annotated := func(m *corev1.ConfigMap) {
		m.Annotations = with(with(m.Annotations, "example.com/a", "new"), "plain", "new")
	}
	old := remoteMap(func(m *corev1.ConfigMap) {
		m.Annotations = with(with(m.Annotations, "example.com/a", "old"), v1alpha1.AnnotationCopied, ";example.com/a")
	}, data("a", "0"))
	for name, test := range map[string]struct {
		remote *corev1.ConfigMap
		limits *translate.Limits
		want   string // Of the annotation example.com/a.
	}{
		"a new copy":           {nil, &translate.Limits{}, ""},
		"a new copy, let in":   {nil, &translate.Limits{MetadataKeys: []string{"example.com/"}}, "new"},
		"an older copy":        {old, &translate.Limits{}, "old"},
		"an older one, let in": {old, &translate.Limits{MetadataKeys: []string{"example.com/"}}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			desired, refusal := testCopies.desired(wanted(localMap(sent, annotated), test.remote, func(s *mapSnapshot) { s.Limits = test.limits }))
			if refusal != nil {
				t.Fatal(refusal)
			}
			if got := desired.Annotations["example.com/a"]; got != test.want || desired.Annotations["plain"] != "new" {
				t.Errorf("the annotations are %v", desired.Annotations)
			}
		})
	}
}

func goingMap(m *corev1.ConfigMap) { m.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} }

func keptHome(m *corev1.ConfigMap) { m.Annotations = with(m.Annotations, v1alpha1.LabelSync, "never") }

type mapSnapshot = Snapshot[*corev1.ConfigMap]

// wanted is a snapshot of a ConfigMap that a pod needs, in a namespace that is offloaded.
func wanted(local, remote *corev1.ConfigMap, changes ...func(*mapSnapshot)) mapSnapshot {
	s := mapSnapshot{
		Key: types.NamespacedName{Namespace: "team", Name: "settings"}, Local: local, Remote: remote,
		Known: local != nil && local.Labels != nil, Wanted: true, Place: Place{Target: testTarget, Open: true}, ClusterID: "eu",
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func unwanted(s *mapSnapshot) { s.Wanted = false }

func unopened(s *mapSnapshot) {
	s.Place = Place{Target: testTarget, Problem: Problem{"NotYet", "wait"}}
}

func closing(s *mapSnapshot) {
	s.Place = Place{Target: testTarget, Leaving: true, Problem: Problem{"Closing", "too late"}}
}

func backingOff(s *mapSnapshot) {
	s.Refused = &Refused{Problem: Problem{"Rejected", "no"}, Verb: Create, Wait: time.Minute}
}

// planInWords is a plan as a line for each action, with what it comes to.
func planInWords(p Plan) []string {
	var lines []string
	for _, a := range p.Actions {
		m := a.Object.(*corev1.ConfigMap)
		line := fmt.Sprintf("%s in the %s", a.Verb, a.Side)
		switch {
		case a.Verb == Delete:
			line += " UID " + string(m.UID)
		case a.Verb == Patch && a.Side == Local:
			line += " " + markInWords(m)
		default:
			line += fmt.Sprintf(" %s/%s %v", m.Namespace, m.Name, m.Data)
		}
		if a.Verb == Patch && a.Locked != (a.Side == Remote) {
			line += ", LOCKED OR NOT"
		}
		lines = append(lines, line)
	}
	if p.Problem != nil {
		lines = append(lines, "problem "+p.Problem.Reason)
	}
	if p.RetryAfter > 0 {
		lines = append(lines, "again after "+p.RetryAfter.String())
	}
	return lines
}

func markInWords(m *corev1.ConfigMap) string {
	var words []string
	for key := range m.Labels {
		words = append(words, "label "+key)
	}
	for key, value := range m.Annotations {
		words = append(words, key+"="+value)
	}
	for _, finalizer := range m.Finalizers {
		words = append(words, "finalizer "+finalizer)
	}
	slices.Sort(words)
	return "[" + strings.Join(words, ", ") + "]"
}

func TestCopies(t *testing.T) {
	const (
		mark   = "patch in the consumer [finalizer sync.spillway.io/eu, label synced-to.spillway.io/eu, remote.spillway.io/eu=team-home/settings]"
		unmark = "patch in the consumer []"
		create = "create in the provider team-home/settings map[a:1]"
		remove = "delete in the provider UID remote-1"
	)
	for name, test := range map[string]struct {
		in   mapSnapshot
		want []string
	}{
		// only in the consumer
		"it is marked first":                           {wanted(localMap(), nil), []string{mark}},
		"then created":                                 {wanted(localMap(sent), nil), []string{create}},
		"marked, and its content is on the way":        {wanted(localMap(sent), nil, func(s *mapSnapshot) { s.Known = false }), []string{"problem ReferenceNotSynced"}},
		"nothing needs it":                             {wanted(localMap(), nil, unwanted), nil},
		"nothing needs it any more":                    {wanted(localMap(sent), nil, unwanted), []string{unmark}},
		"another provider's mark stays":                {wanted(localMap(sent, sentTo("us", "x/y")), nil, unwanted), []string{"patch in the consumer [finalizer sync.spillway.io/us, label synced-to.spillway.io/us, remote.spillway.io/us=x/y]"}},
		"half a mark is taken off too":                 {wanted(localMap(func(m *corev1.ConfigMap) { m.Finalizers = []string{"sync.spillway.io/eu"} }), nil, unwanted), []string{unmark}},
		"half a mark is completed":                     {wanted(localMap(func(m *corev1.ConfigMap) { m.Finalizers = []string{"sync.spillway.io/eu"} }), nil), []string{mark}},
		"it went elsewhere before":                     {wanted(localMap(sentTo("eu", "old/settings")), nil), []string{mark}},
		"its owner keeps it":                           {wanted(localMap(keptHome), nil), nil},
		"its namespace is not ready":                   {wanted(localMap(), nil, unopened), []string{"problem NotYet"}},
		"its namespace is being closed":                {wanted(localMap(sent), nil, closing), []string{unmark}},
		"it is being deleted":                          {wanted(localMap(sent, goingMap), nil), []string{unmark}},
		"it is being deleted, and the namespace waits": {wanted(localMap(sent, goingMap), nil, unopened), []string{unmark}},
		"it is being deleted, and was never sent":      {wanted(localMap(goingMap), nil), nil},
		"it may not go":                                {wanted(localMap(sent, data("refuse", "x")), nil), []string{"problem Refused"}},
		"the provider has refused it":                  {wanted(localMap(sent), nil, backingOff), []string{"problem Rejected", "again after 1m0s"}},
		"it needs what is not there": {wanted(localMap(sent), nil, func(s *mapSnapshot) {
			s.Needs = []Need{{Kind: "x", Problem: Problem{"Missing", "gone"}}}
		}), []string{"problem Missing"}},

		// on both sides
		"all is well":                       {wanted(localMap(sent), remoteMap()), nil},
		"its content has changed":           {wanted(localMap(sent, data("a", "2")), remoteMap()), []string{"patch in the provider team-home/settings map[a:2]"}},
		"its copy has been changed":         {wanted(localMap(sent), remoteMap(data("a", "9"))), []string{"patch in the provider team-home/settings map[a:1]"}},
		"its copy cannot be changed":        {wanted(localMap(sent, data("a", "2")), remoteMap(data("a", "1", "frozen", "x"))), []string{remove}},
		"its copy is going":                 {wanted(localMap(sent), remoteMap(goingMap)), []string{"problem Replacing"}},
		"the mark has been taken off":       {wanted(localMap(), remoteMap()), []string{mark}},
		"its content is on the way":         {wanted(localMap(sent, data()), remoteMap(), func(s *mapSnapshot) { s.Known = false }), nil},
		"the copy is not needed":            {wanted(localMap(sent), remoteMap(), unwanted), []string{remove}},
		"the copy is not needed, and going": {wanted(localMap(sent), remoteMap(goingMap), unwanted), nil},
		"its owner keeps it from now on":    {wanted(localMap(sent, keptHome), remoteMap()), []string{remove}},
		"pods still use it":                 {wanted(localMap(sent), remoteMap(), closing), nil},
		"a passing state decides nothing":   {wanted(localMap(sent, data("a", "2")), remoteMap(), unopened), nil},
		"deleted while pods use it":         {wanted(localMap(sent, goingMap), remoteMap()), []string{remove}},
		"deleted while the namespace waits": {wanted(localMap(sent, goingMap), remoteMap(), unopened), []string{remove}},
		"the change is refused":             {wanted(localMap(sent, data("a", "2")), remoteMap(), backingOff), []string{"problem Rejected", "again after 1m0s"}},
		"another one of its name is there":  {wanted(localMap(sent), nil, func(s *mapSnapshot) { s.Strays = []*corev1.ConfigMap{remoteMap()} }), []string{remove, "problem Replacing"}},

		// only in the provider
		"nothing stands behind it":                   {wanted(nil, remoteMap()), []string{remove}},
		"nothing stands behind it, and it goes":      {wanted(nil, remoteMap(goingMap)), nil},
		"nothing stands behind it, namespace or not": {wanted(nil, remoteMap(), unopened, unwanted), []string{remove}},
	} {
		t.Run(name, func(t *testing.T) {
			before := [2]*corev1.ConfigMap{test.in.Local.DeepCopy(), test.in.Remote.DeepCopy()}
			got := Decide(test.in, Syncer[*corev1.ConfigMap](testCopies))
			if diff := cmp.Diff(test.want, planInWords(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, [2]*corev1.ConfigMap{test.in.Local, test.in.Remote}); diff != "" {
				t.Errorf("the decision has changed what it looks at, which belongs to the cache:\n%s", diff)
			}
		})
	}
}

// An object that pods need in the mapped namespace and in the mount namespace has
// a copy in each.
func TestTwoCopies(t *testing.T) {
	const (
		both = "spillway-mount/team-settings-x,team-home/settings"
		mark = "patch in the consumer [finalizer sync.spillway.io/eu, label synced-to.spillway.io/eu, remote.spillway.io/eu="
	)
	mounted := translate.Target{Mark: testMark, Namespace: "spillway-mount", Hashed: true}
	name := mounted.Name("team", "settings")
	listed := strings.Replace(both, "team-settings-x", name, 1)
	inMount := func(options ...configMapOption) *corev1.ConfigMap {
		m := remoteMap(options...)
		m.Namespace, m.Name, m.UID = mounted.Namespace, name, "remote-2"
		return m
	}
	place := func(target translate.Target) Place { return Place{Target: target, Local: "team", Open: true} }
	at := func(target translate.Target, remote *corev1.ConfigMap) Site[*corev1.ConfigMap] {
		return Site[*corev1.ConfigMap]{Place: place(target), Remote: remote}
	}
	in := func(local *corev1.ConfigMap, sites ...Site[*corev1.ConfigMap]) mapSnapshot {
		s := wanted(local, nil, func(s *mapSnapshot) { s.Sites = sites })
		return s.at(sites[0])
	}
	unneeded := func(s mapSnapshot, remotes ...*corev1.ConfigMap) mapSnapshot {
		s.Unneeded = remotes
		return s
	}
	unknown := Site[*corev1.ConfigMap]{Place: Place{Local: "team", Problem: Problem{"NotYet", "wait"}}}
	for name, test := range map[string]struct {
		in   mapSnapshot
		want []string
	}{
		"a second one is needed": {in(localMap(sentTo("eu", "spillway-mount/"+name)), at(mounted, inMount()), at(testTarget, nil)), []string{mark + listed + "]"}},
		"and is made":            {in(localMap(sentTo("eu", listed)), at(mounted, inMount()), at(testTarget, nil)), []string{"create in the provider team-home/settings map[a:1]"}},
		"both are right":         {in(localMap(sentTo("eu", listed)), at(mounted, inMount()), at(testTarget, remoteMap())), nil},
		"both follow": {in(localMap(sentTo("eu", listed), data("a", "2")), at(mounted, inMount()), at(testTarget, remoteMap())), []string{
			"patch in the provider spillway-mount/" + name + " map[a:2]", "patch in the provider team-home/settings map[a:2]"}},
		"one goes":                   {unneeded(in(localMap(sentTo("eu", listed)), at(testTarget, remoteMap())), inMount()), []string{"delete in the provider UID remote-2"}},
		"one goes, and takes time":   {unneeded(in(localMap(sentTo("eu", listed)), at(testTarget, remoteMap())), inMount(goingMap)), nil},
		"one has gone":               {in(localMap(sentTo("eu", listed)), at(testTarget, remoteMap())), []string{mark + "team-home/settings]"}},
		"where it goes is not known": {unneeded(in(localMap(sentTo("eu", "spillway-mount/"+name)), unknown), inMount()), []string{"problem NotYet"}},
		"nothing needs either": {func() mapSnapshot {
			return unneeded(wanted(localMap(sentTo("eu", listed)), remoteMap(), unwanted), inMount())
		}(), []string{"delete in the provider UID remote-1", "delete in the provider UID remote-2"}},
		"one of them is left": {wanted(localMap(sentTo("eu", listed)), inMount(goingMap), unwanted), nil},
		"one is refused, the other follows": {in(localMap(sentTo("eu", listed), data("a", "2")), func() Site[*corev1.ConfigMap] {
			site := at(mounted, inMount())
			site.Refused = &Refused{Problem: Problem{"Rejected", "no"}, Verb: Patch, Wait: time.Minute}
			return site
		}(), at(testTarget, remoteMap())), []string{"patch in the provider team-home/settings map[a:2]", "problem Rejected", "again after 1m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(test.in, Syncer[*corev1.ConfigMap](testCopies))
			if diff := cmp.Diff(test.want, planInWords(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
