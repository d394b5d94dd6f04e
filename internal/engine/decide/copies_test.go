package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

// TestCopiesWithhold tests annotations that the provider does not allow. A new copy has none of them, and an
// existing copy keeps those it has.
func TestCopiesWithhold(t *testing.T) {
	annotated := func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(decide.With(m.Annotations, "example.com/a", "new"), "plain", "new")
	}
	old := fixture.Remote(func(m *corev1.ConfigMap) {
		m.Annotations = decide.With(decide.With(m.Annotations, "example.com/a", "old"), v1alpha1.AnnotationCopied, ";example.com/a")
	}, fixture.Data("a", "0"))
	for name, test := range map[string]struct {
		remote *corev1.ConfigMap
		limits *field.Limits
		want   string // The value of the annotation example.com/a.
	}{
		"a new copy":           {nil, &field.Limits{}, ""},
		"a new copy, let in":   {nil, &field.Limits{MetadataKeys: []string{"example.com/"}}, "new"},
		"an older copy":        {old, &field.Limits{}, "old"},
		"an older one, let in": {old, &field.Limits{MetadataKeys: []string{"example.com/"}}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := decide.Next(fixture.Observed(fixture.Local(fixture.Sent, annotated), test.remote, func(s *fixture.Snapshot) { s.Limits = test.limits }), fixture.Copies)
			if len(plan.Actions) != 1 || plan.Problem != nil {
				t.Fatalf("the plan is %v", plan)
			}
			got := plan.Actions[0].Object.GetAnnotations()
			if got["example.com/a"] != test.want || got["plain"] != "new" {
				t.Errorf("the annotations are %v", got)
			}
		})
	}
}

func unopened(s *fixture.Snapshot) {
	s.Destination = decide.Destination{Target: fixture.Target, Problem: field.Problem{Reason: "NotYet", Message: "wait"}}
}

func closing(s *fixture.Snapshot) {
	s.Destination = decide.Destination{Target: fixture.Target, Leaving: true, Problem: field.Problem{Reason: "Closing", Message: "too late"}}
}

func backingOff(s *fixture.Snapshot) {
	s.Refused = &decide.Refused{Problem: field.Problem{Reason: "Rejected", Message: "no"}, Verb: decide.Create, Wait: time.Minute}
}

// refusedTo makes an API server refuse this request, in a namespace of the provider or, if that is empty, in
// the consumer.
func refusedTo(verb decide.Verb, in string, wait time.Duration) func(*fixture.Snapshot) {
	return func(s *fixture.Snapshot) {
		s.Refused = &decide.Refused{Problem: field.Problem{Reason: "Rejected", Message: "no"}, Verb: verb, In: in, Wait: wait}
	}
}

// planInWords describes a plan in words: a line for each action, then the result.
func planInWords(p decide.Plan) []string {
	var lines []string
	for _, a := range p.Actions {
		m := a.Object.(*corev1.ConfigMap)
		line := fmt.Sprintf("%s in the %s", a.Verb, a.Side)
		switch {
		case a.Verb == decide.Delete:
			line += " UID " + string(m.UID)
		case a.Verb == decide.Patch && a.Side == decide.Local:
			line += " " + markInWords(m)
		default:
			line += fmt.Sprintf(" %s/%s %v", m.Namespace, m.Name, m.Data)
		}
		if a.Verb == decide.Patch && a.Locked != (a.Side == decide.Remote) {
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
		in   fixture.Snapshot
		want []string
	}{
		// only in the consumer
		"it is marked first":                           {fixture.Wanted(fixture.Local(), nil), []string{mark}},
		"then created":                                 {fixture.Wanted(fixture.Local(fixture.Sent), nil), []string{create}},
		"marked, and its content is on the way":        {fixture.Wanted(fixture.Local(fixture.Sent), nil, func(s *fixture.Snapshot) { s.Known = false }), []string{"problem ReferenceNotSynced"}},
		"nothing needs it":                             {fixture.Wanted(fixture.Local(), nil, fixture.Unwanted), nil},
		"nothing needs it any more":                    {fixture.Wanted(fixture.Local(fixture.Sent), nil, fixture.Unwanted), []string{unmark}},
		"another provider's mark stays":                {fixture.Wanted(fixture.Local(fixture.Sent, fixture.SentTo("us", "x/y")), nil, fixture.Unwanted), []string{"patch in the consumer [finalizer sync.spillway.io/us, label synced-to.spillway.io/us, remote.spillway.io/us=x/y]"}},
		"half a mark is taken off too":                 {fixture.Wanted(fixture.Local(func(m *corev1.ConfigMap) { m.Finalizers = []string{"sync.spillway.io/eu"} }), nil, fixture.Unwanted), []string{unmark}},
		"half a mark is completed":                     {fixture.Wanted(fixture.Local(func(m *corev1.ConfigMap) { m.Finalizers = []string{"sync.spillway.io/eu"} }), nil), []string{mark}},
		"it went elsewhere before":                     {fixture.Wanted(fixture.Local(fixture.SentTo("eu", "old/settings")), nil), []string{mark}},
		"its owner keeps it":                           {fixture.Wanted(fixture.Local(fixture.KeptHome), nil), nil},
		"its namespace is not ready":                   {fixture.Wanted(fixture.Local(), nil, unopened), []string{"problem NotYet"}},
		"its namespace is being closed":                {fixture.Wanted(fixture.Local(fixture.Sent), nil, closing), []string{unmark}},
		"it is being deleted":                          {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Going), nil), []string{unmark}},
		"it is being deleted, and the namespace waits": {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Going), nil, unopened), []string{unmark}},
		"it is being deleted, and was never sent":      {fixture.Wanted(fixture.Local(fixture.Going), nil), nil},
		"it may not go":                                {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("refuse", "x")), nil), []string{"problem Refused"}},
		"the provider has refused it":                  {fixture.Wanted(fixture.Local(fixture.Sent), nil, backingOff), []string{"problem Rejected", "again after 1m0s"}},
		"the provider has refused it, and it is due":   {fixture.Wanted(fixture.Local(fixture.Sent), nil, refusedTo(decide.Create, "team-home", 0)), []string{create}},
		"the mark is refused":                          {fixture.Wanted(fixture.Local(), nil, refusedTo(decide.Patch, "", time.Minute)), []string{"problem Rejected", "again after 1m0s"}},
		"the mark is refused, and due":                 {fixture.Wanted(fixture.Local(), nil, refusedTo(decide.Patch, "", 0)), []string{mark}},
		"it needs what is there, and what is not": {fixture.Wanted(fixture.Local(fixture.Sent), nil, func(s *fixture.Snapshot) {
			s.Needs = []decide.Need{{Kind: "x", Ready: true}, {Kind: "y", Problem: field.Problem{Reason: "Missing", Message: "gone"}}}
		}), []string{"problem Missing"}},
		"it needs what is there":                       {fixture.Wanted(fixture.Local(fixture.Sent), nil, func(s *fixture.Snapshot) { s.Needs = []decide.Need{{Kind: "x", Ready: true}} }), []string{create}},
		"its label is gone":                            {fixture.Wanted(fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) { m.Labels = nil }), nil), []string{mark}},
		"its finalizer is gone":                        {fixture.Wanted(fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) { m.Finalizers = nil }), nil), []string{mark}},
		"only its place is left":                       {fixture.Wanted(fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) { m.Labels, m.Finalizers = nil, nil }), nil, fixture.Unwanted), []string{unmark}},
		"only its label is left":                       {fixture.Wanted(fixture.Local(fixture.Sent, func(m *corev1.ConfigMap) { m.Annotations, m.Finalizers = nil, nil }), nil, fixture.Unwanted), []string{unmark}},
		"a change of the copy was, and it is marked":   {fixture.Wanted(fixture.Local(), nil, refusedTo(decide.Patch, "team-home", time.Minute)), []string{mark}},
		"the copy was, and it is marked":               {fixture.Wanted(fixture.Local(), nil, refusedTo(decide.Create, "", time.Minute)), []string{mark}},
		"its namespace closes, and it is not marked":   {fixture.Wanted(fixture.Local(), nil, closing), nil},
		"its namespace is not ready, nor is it needed": {fixture.Wanted(fixture.Local(fixture.Sent), nil, unopened, fixture.Unwanted), []string{unmark}},
		"it needs what is not there": {fixture.Wanted(fixture.Local(fixture.Sent), nil, func(s *fixture.Snapshot) {
			s.Needs = []decide.Need{{Kind: "x", Problem: field.Problem{Reason: "Missing", Message: "gone"}}}
		}), []string{"problem Missing"}},

		// on both sides
		"all is well":                                      {fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote()), nil},
		"its content has changed":                          {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote()), []string{"patch in the provider team-home/settings map[a:2]"}},
		"its copy has been changed":                        {fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote(fixture.Data("a", "9"))), []string{"patch in the provider team-home/settings map[a:1]"}},
		"its copy cannot be changed":                       {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote(fixture.Data("a", "1", "frozen", "x"))), []string{remove}},
		"its copy is going":                                {fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote(fixture.Going)), []string{"problem Replacing"}},
		"the mark has been taken off":                      {fixture.Wanted(fixture.Local(), fixture.Remote()), []string{mark}},
		"its content is on the way":                        {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data()), fixture.Remote(), func(s *fixture.Snapshot) { s.Known = false }), nil},
		"the copy is not needed":                           {fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote(), fixture.Unwanted), []string{remove}},
		"the copy is not needed, and going":                {fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote(fixture.Going), fixture.Unwanted), nil},
		"its owner keeps it from now on":                   {fixture.Wanted(fixture.Local(fixture.Sent, fixture.KeptHome), fixture.Remote()), []string{remove}},
		"pods still use it":                                {fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote(), closing), nil},
		"a passing state decides nothing":                  {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote(), unopened), nil},
		"deleted while pods use it":                        {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Going), fixture.Remote()), []string{remove}},
		"deleted while the namespace waits":                {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Going), fixture.Remote(), unopened), []string{remove}},
		"the change is refused":                            {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote(), backingOff), []string{"problem Rejected", "again after 1m0s"}},
		"the change is refused, and due":                   {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("a", "2")), fixture.Remote(), refusedTo(decide.Patch, "team-home", 0)), []string{"patch in the provider team-home/settings map[a:2]"}},
		"a change that is not needed any more was refused": {fixture.Wanted(fixture.Local(fixture.Sent), fixture.Remote(), backingOff), nil},
		"it may not go any more":                           {fixture.Wanted(fixture.Local(fixture.Sent, fixture.Data("refuse", "x")), fixture.Remote()), []string{"problem Refused"}},
		"another one of its name is there":                 {fixture.Wanted(fixture.Local(fixture.Sent), nil, func(s *fixture.Snapshot) { s.Duplicates = []*corev1.ConfigMap{fixture.Remote()} }), []string{remove, "problem Replacing"}},

		// only in the provider
		"nothing stands behind it": {fixture.Wanted(nil, fixture.Remote()), []string{remove}},
		"nothing stands behind several": {fixture.Wanted(nil, fixture.Remote(), func(s *fixture.Snapshot) {
			s.Duplicates = []*corev1.ConfigMap{fixture.Remote(func(m *corev1.ConfigMap) { m.UID = "remote-2" })}
		}), []string{remove, "delete in the provider UID remote-2"}},
		"nothing stands behind a stray":              {fixture.Wanted(nil, nil, func(s *fixture.Snapshot) { s.Duplicates = []*corev1.ConfigMap{fixture.Remote()} }), []string{remove}},
		"nothing is anywhere":                        {fixture.Wanted(nil, nil), nil},
		"nothing stands behind it, and it goes":      {fixture.Wanted(nil, fixture.Remote(fixture.Going)), nil},
		"nothing stands behind it, namespace or not": {fixture.Wanted(nil, fixture.Remote(), unopened, fixture.Unwanted), []string{remove}},
	} {
		t.Run(name, func(t *testing.T) {
			before := [2]*corev1.ConfigMap{test.in.Local.DeepCopy(), test.in.Remote.DeepCopy()}
			got := decide.Next(fixture.Of(test.in), decide.Syncer[*corev1.ConfigMap](fixture.Copies))
			if diff := cmp.Diff(test.want, planInWords(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, [2]*corev1.ConfigMap{test.in.Local, test.in.Remote}); diff != "" {
				t.Errorf("the decision has changed what it looks at, which belongs to the cache:\n%s", diff)
			}
		})
	}
}

// TestTwoCopies tests an object that pods need in both the mapped namespace and the mount namespace.
func TestTwoCopies(t *testing.T) {
	const (
		both = "spillway-mount/team-settings-x,team-home/settings"
		mark = "patch in the consumer [finalizer sync.spillway.io/eu, label synced-to.spillway.io/eu, remote.spillway.io/eu="
	)
	mounted := field.Target{Mark: fixture.Mark, Namespace: "spillway-mount", Hashed: true}
	name := mounted.Name("team", "settings")
	listed := strings.Replace(both, "team-settings-x", name, 1)
	inMount := func(options ...fixture.Option) *corev1.ConfigMap {
		m := fixture.Remote(options...)
		m.Namespace, m.Name, m.UID = mounted.Namespace, name, "remote-2"
		return m
	}
	place := func(target field.Target) decide.Destination {
		return decide.Destination{Target: target, Local: "team", Open: true}
	}
	at := func(target field.Target, remote *corev1.ConfigMap) decide.RemoteState[*corev1.ConfigMap] {
		return decide.RemoteState[*corev1.ConfigMap]{Destination: place(target), Wanted: true, Remote: remote}
	}
	in := func(local *corev1.ConfigMap, sites ...decide.RemoteState[*corev1.ConfigMap]) fixture.Snapshot {
		return fixture.Wanted(local, sites[0].Remote, func(s *fixture.Snapshot) { s.RemoteStates = sites })
	}
	unneeded := func(s fixture.Snapshot, remotes ...*corev1.ConfigMap) fixture.Snapshot {
		s.ObjectState = fixture.Of(s)
		for _, remote := range remotes {
			s.RemoteStates = append(s.RemoteStates, decide.RemoteState[*corev1.ConfigMap]{Remote: remote})
		}
		return s
	}
	unknown := decide.RemoteState[*corev1.ConfigMap]{Wanted: true, Destination: decide.Destination{Local: "team", Problem: field.Problem{Reason: "NotYet", Message: "wait"}}}
	for name, test := range map[string]struct {
		in   fixture.Snapshot
		want []string
	}{
		"a second one is needed": {in(fixture.Local(fixture.SentTo("eu", "spillway-mount/"+name)), at(mounted, inMount()), at(fixture.Target, nil)), []string{mark + listed + "]"}},
		"and is made":            {in(fixture.Local(fixture.SentTo("eu", listed)), at(mounted, inMount()), at(fixture.Target, nil)), []string{"create in the provider team-home/settings map[a:1]"}},
		"both are right":         {in(fixture.Local(fixture.SentTo("eu", listed)), at(mounted, inMount()), at(fixture.Target, fixture.Remote())), nil},
		"both follow": {in(fixture.Local(fixture.SentTo("eu", listed), fixture.Data("a", "2")), at(mounted, inMount()), at(fixture.Target, fixture.Remote())), []string{
			"patch in the provider spillway-mount/" + name + " map[a:2]", "patch in the provider team-home/settings map[a:2]"}},
		"one goes":                   {unneeded(in(fixture.Local(fixture.SentTo("eu", listed)), at(fixture.Target, fixture.Remote())), inMount()), []string{"delete in the provider UID remote-2"}},
		"one goes, and takes time":   {unneeded(in(fixture.Local(fixture.SentTo("eu", listed)), at(fixture.Target, fixture.Remote())), inMount(fixture.Going)), nil},
		"one has gone":               {in(fixture.Local(fixture.SentTo("eu", listed)), at(fixture.Target, fixture.Remote())), []string{mark + "team-home/settings]"}},
		"where it goes is not known": {unneeded(in(fixture.Local(fixture.SentTo("eu", "spillway-mount/"+name)), unknown), inMount()), []string{"problem NotYet"}},
		"nothing needs either": {func() fixture.Snapshot {
			return unneeded(fixture.Wanted(fixture.Local(fixture.SentTo("eu", listed)), fixture.Remote(), fixture.Unwanted), inMount())
		}(), []string{"delete in the provider UID remote-1", "delete in the provider UID remote-2"}},
		"nothing needs either, and where it would go is not known": {func() fixture.Snapshot {
			return unneeded(fixture.Wanted(fixture.Local(fixture.SentTo("eu", listed)), fixture.Remote(), fixture.Unwanted, unopened), inMount())
		}(), []string{"delete in the provider UID remote-1", "delete in the provider UID remote-2"}},
		"where it is is being closed": {unneeded(in(fixture.Local(fixture.SentTo("eu", listed)), decide.RemoteState[*corev1.ConfigMap]{
			Wanted: true, Destination: decide.Destination{Target: fixture.Target, Local: "team", Leaving: true}, Remote: fixture.Remote()}), inMount()), []string{"delete in the provider UID remote-2"}},
		"one of them is left": {fixture.Wanted(fixture.Local(fixture.SentTo("eu", listed)), inMount(fixture.Going), fixture.Unwanted), nil},
		"one is refused, the other follows": {in(fixture.Local(fixture.SentTo("eu", listed), fixture.Data("a", "2")), func() decide.RemoteState[*corev1.ConfigMap] {
			site := at(mounted, inMount())
			site.Refused = &decide.Refused{Problem: field.Problem{Reason: "Rejected", Message: "no"}, Verb: decide.Patch, Wait: time.Minute}
			return site
		}(), at(fixture.Target, fixture.Remote())), []string{"patch in the provider team-home/settings map[a:2]", "problem Rejected", "again after 1m0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := decide.Next(fixture.Of(test.in), decide.Syncer[*corev1.ConfigMap](fixture.Copies))
			if diff := cmp.Diff(test.want, planInWords(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
