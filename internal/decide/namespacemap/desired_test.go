package namespacemap

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func entries(pairs ...string) []v1alpha1.DesiredMapping {
	list := []v1alpha1.DesiredMapping{}
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, v1alpha1.DesiredMapping{Namespace: pairs[i], RemoteNamespace: pairs[i+1]})
	}
	return list
}

func wanted(namespace, remote string, after time.Duration) Wanted {
	return Wanted{Namespace: namespace, RemoteNamespace: remote, Created: builder.Epoch.Add(after)}
}

func byDefault(namespace, consumer string) Wanted {
	return Wanted{Namespace: namespace, RemoteNamespace: defaultName(namespace, consumer), Default: true, Created: builder.Epoch}
}

func TestDesired(t *testing.T) {
	longest := strings.Repeat("n", 63)
	dashes := strings.Repeat("n", 28) + "--" + strings.Repeat("n", 33) // Cut at 30, it ends in two dashes.
	tests := map[string]struct {
		current []v1alpha1.DesiredMapping
		wanted  []Wanted
		want    []v1alpha1.DesiredMapping
	}{
		"nothing": {entries(), nil, entries()},
		"new ones, the oldest first": {
			nil, []Wanted{wanted("a", "ra", time.Hour), wanted("b", "rb", 0)}, entries("b", "rb", "a", "ra")},
		"new ones of one second, by name": {
			nil, []Wanted{wanted("b", "rb", 0), wanted("a", "ra", 0)}, entries("a", "ra", "b", "rb")},
		"those that are there keep their order, whoever is older": {
			entries("c", "rc", "a", "ra"), []Wanted{wanted("a", "ra", 0), wanted("b", "rb", 0), wanted("c", "rc", time.Hour)},
			entries("c", "rc", "a", "ra", "b", "rb")},
		"those that are not wanted go": {
			entries("a", "ra", "b", "rb", "c", "rc"), []Wanted{wanted("b", "rb", 0)}, entries("b", "rb")},
		"all go": {entries("a", "ra"), nil, entries()},
		"two that want one name are both listed, the first in front": {
			entries("b", "r"), []Wanted{wanted("a", "r", 0), wanted("b", "r", time.Hour)}, entries("b", "r", "a", "r")},
		"another strategy since, another name": {
			entries("a", "old"), []Wanted{wanted("a", "new", 0)}, entries("a", "new")},
		"a strategy of a newer version: what is there stays, and nothing is new": {
			entries("a", "old"), []Wanted{{Namespace: "a", RemoteNamespace: "new", Unknown: true}, {Namespace: "b", RemoteNamespace: "new", Unknown: true}}, entries("a", "old")},
		"a default name stays under another consumer id": {
			entries("a", "a-old"), []Wanted{byDefault("a", "new")}, entries("a", "a-old")},
		"a hashed default name too": {
			entries(longest, defaultName(longest, "old")), []Wanted{byDefault(longest, "new")}, entries(longest, defaultName(longest, "old"))},
		"a hashed one that was cut at dashes too": {
			entries(dashes, defaultName(dashes, "old")), []Wanted{byDefault(dashes, "new")}, entries(dashes, defaultName(dashes, "old"))},
		"one that was short enough for the old id but not for the new": {
			entries(longest[:60], longest[:60]+"-a"), []Wanted{byDefault(longest[:60], "abcd")}, entries(longest[:60], longest[:60]+"-a")},
		"the same name is no default name": {
			entries("a", "a"), []Wanted{byDefault("a", "new")}, entries("a", "a-new")},
		"a name of another beginning is no default name": {
			entries("a", "other"), []Wanted{byDefault("a", "new")}, entries("a", "a-new")},
		"one that only begins like the namespace is no default name": {
			entries("a", "abc"), []Wanted{byDefault("a", "new")}, entries("a", "a-new")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Desired(test.current, test.wanted)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(got, Desired(got, test.wanted)); diff != "" {
				t.Errorf("the second time is not like the first (-first +second)\n%s", diff)
			}
		})
	}
}

func TestEntries(t *testing.T) {
	const there, gone = v1alpha1.MappingAccepted, v1alpha1.MappingTerminating
	for name, test := range map[string]struct {
		nsm  *v1alpha1.NamespaceMap
		want []v1alpha1.DesiredMapping
	}{
		"as they are":              {builder.Map("eu").Accepted("b", "rb").Desired("a", "ra").Obj(), entries("b", "rb", "a", "ra")},
		"one was taken out":        {builder.Map("eu").Accepted("b", "rb").Current("a", "ra", there, "", "").Obj(), entries("b", "rb", "a", "ra")},
		"one was given a new name": {builder.Map("eu").Desired("a", "other").Current("a", "ra", there, "", "").Obj(), entries("a", "ra")},
		"one goes":                 {builder.Map("eu").Current("a", "ra", gone, "", "").Obj(), entries()},
		"one goes, and comes":      {builder.Map("eu").Desired("a", "other").Current("a", "ra", gone, "", "").Obj(), entries("a", "other")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Entries(test.nsm), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDesiredIsStable(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func() []Wanted {
			var list []Wanted
			for i := range 12 {
				namespace := fmt.Sprintf("ns-%d", i)
				switch random.IntN(3) {
				case 0:
					list = append(list, byDefault(namespace, fmt.Sprintf("c%d", random.IntN(3))))
				case 1:
					list = append(list, wanted(namespace, fmt.Sprintf("shared-%d", random.IntN(3)), time.Duration(random.IntN(3))*time.Second))
				}
			}
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			return list
		}
		before := Desired(nil, pick())
		want := pick()
		after := Desired(before, want)
		random.Shuffle(len(want), func(i, j int) { want[i], want[j] = want[j], want[i] })
		if diff := cmp.Diff(after, Desired(before, want)); diff != "" {
			t.Fatalf("seed %d: the order of what is wanted makes a difference\n%s", seed, diff)
		}
		if diff := cmp.Diff(after, Desired(after, want)); diff != "" {
			t.Fatalf("seed %d: not idempotent\n%s", seed, diff)
		}
		names := sets.New[string]()
		for _, w := range want {
			names.Insert(w.Namespace)
		}
		var kept []string
		for _, e := range before {
			if names.Has(e.Namespace) {
				kept = append(kept, e.Namespace)
			}
		}
		var first []string
		for _, e := range after[:len(kept)] {
			first = append(first, e.Namespace)
		}
		if diff := cmp.Diff(kept, first); diff != "" || len(after) != len(want) {
			t.Fatalf("seed %d: the order is not kept, or something is missing\n%s", seed, diff)
		}
	}
}

func TestLookups(t *testing.T) {
	nsm := builder.Map("eu").Desired("a", "ra").Accepted("b", "rb").
		Current("c", "rc", v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "").Obj()
	if got := FindDesired(nsm.Spec.DesiredMapping, "b"); got == nil || got.RemoteNamespace != "rb" {
		t.Errorf("FindDesired(b) = %v", got)
	}
	if got := FindDesired(nsm.Spec.DesiredMapping, "c"); got != nil {
		t.Errorf("FindDesired(c) = %v", got)
	}
	if got := FindCurrent(nsm.Status.CurrentMapping, "c"); got == nil || got.RemoteNamespace != "rc" {
		t.Errorf("FindCurrent(c) = %v", got)
	}
	if got := FindCurrent(nsm.Status.CurrentMapping, "a"); got != nil {
		t.Errorf("FindCurrent(a) = %v", got)
	}
	if diff := cmp.Diff(sets.New("a", "b", "c"), Namespaces(nsm)); diff != "" {
		t.Error(diff)
	}
}

func TestUnanswered(t *testing.T) {
	for name, test := range map[string]struct {
		nsm  *builder.MapBuilder
		want bool
	}{
		"not asked for": {builder.Map("eu").Desired("b", "rb"), false},
		"asked for":     {builder.Map("eu").Desired("a", "ra"), true},
		"asked for, by a map that was never begun": {builder.Map("eu").Desired("a", "ra").Untouched(), false},
		"asked for and there":                      {builder.Map("eu").Accepted("a", "ra"), false},
		"asked for, and it failed":                 {builder.Map("eu").Desired("a", "ra").Current("a", "ra", v1alpha1.MappingCreationLoopBackOff, "", ""), false},
		"told of, no longer asked for":             {builder.Map("eu").Current("a", "ra", v1alpha1.MappingTerminating, "", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Unreported(test.nsm.Obj(), "a"); got != test.want {
				t.Errorf("unanswered: %v", got)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	base := func() *builder.MapBuilder { return builder.Map("eu").Accepted("a", "ra").Accepted("b", "rb") }
	later := base().Obj()
	for i := range later.Status.CurrentMapping {
		since := later.Status.CurrentMapping[i].Since.DeepCopy()
		later.Status.CurrentMapping[i].Since = since
	}
	leaving := base().Obj()
	leaving.Status.LeavingPods = []v1alpha1.LeavingPods{{Namespace: "b", Count: ptr.To(int32(2)), Names: []string{"b/web"}}}
	tests := map[string]struct {
		after *v1alpha1.NamespaceMap
		want  sets.Set[string]
	}{
		"pods that must leave":        {leaving, sets.New("b")},
		"nothing":                     {base().Obj(), sets.New[string]()},
		"a copy of since is the same": {later, sets.New[string]()},
		"observed generation only":    {base().Unobserved().Obj(), sets.New[string]()},
		"a new entry":                 {base().Desired("c", "rc").Obj(), sets.New("c")},
		"an entry of the status":      {base().Current("c", "rc", v1alpha1.MappingTerminating, "", "").Obj(), sets.New("c")},
		"an entry less":               {builder.Map("eu").Accepted("a", "ra").Obj(), sets.New("b")},
		"all entries less":            {&v1alpha1.NamespaceMap{}, sets.New("a", "b")},
		"another order":               {builder.Map("eu").Accepted("b", "rb").Accepted("a", "ra").Obj(), sets.New[string]()},
		"another remote name":         {builder.Map("eu").Accepted("a", "ra").Accepted("b", "other").Obj(), sets.New("b")},
		"not desired any more": {builder.Map("eu").Accepted("a", "ra").
			Current("b", "rb", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(), sets.New("b")},
		"another phase": {builder.Map("eu").Accepted("a", "ra").Desired("b", "rb").
			Current("b", "rb", v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceActive, "").Obj(), sets.New("b")},
		"another message": {builder.Map("eu").Accepted("a", "ra").Desired("b", "rb").
			Current("b", "rb", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "new").Obj(), sets.New("b")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Changed(base().Obj(), test.after), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnswered tests a status that reports on a namespace for the first time.
func TestAnswered(t *testing.T) {
	reports := func(namespaces ...string) *v1alpha1.NamespaceMap {
		m := builder.Map("eu")
		for _, namespace := range namespaces {
			m.Current(namespace, namespace, v1alpha1.MappingAccepted, "", "")
		}
		return m.Obj()
	}
	for name, test := range map[string]struct {
		before, after *v1alpha1.NamespaceMap
		want          bool
	}{
		"nothing":     {reports(), reports(), false},
		"the first":   {reports(), reports("a"), true},
		"the same":    {reports("a", "b"), reports("a", "b"), false},
		"another one": {reports("a"), reports("b", "a"), true},
		"one less":    {reports("a", "b"), reports("a"), false},
	} {
		if got := FirstReported(test.before, test.after); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
