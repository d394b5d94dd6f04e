package recipe

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecipe(t *testing.T) {
	pod := Point{Cluster: "p1", Verb: "create", Resource: "pods", Namespace: "team-a-lane", Name: "web", Occurrence: 1}
	node := Point{Cluster: "consumer", Verb: "patch", Resource: "nodes", Subresource: "status", Name: "spillway-p1", Occurrence: 2}
	all := Point{Cluster: "p1", Verb: "deletecollection", Resource: "pods", Namespace: "team-a-lane", Occurrence: 1}
	watch := Point{Cluster: "consumer", Verb: "watch", Resource: "pods", Occurrence: 3}
	for text, want := range map[string]Recipe{
		"": nil,
		"crash-after-commit p1 create pods team-a-lane/web 1":                                                                {{pod, CrashAfterCommit}},
		"crash-before-send p1 create pods team-a-lane/web 1; crash-after-response consumer patch nodes/status spillway-p1 2": {{pod, CrashBeforeSend}, {node, CrashAfterResponse}},
		"conflict p1 deletecollection pods team-a-lane/ 1":                                                                   {{all, Conflict}},
		"watch-hold consumer watch pods - 3":                                                                                 {{watch, WatchHold}},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", text, diff)
		}
		if got.String() != text {
			t.Errorf("String() = %q, want %q", got, text)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"crash", "burn p1 create pods a/web 1", "conflict p1 create pods a/web 0", "conflict p1 create pods a/web one", "conflict p1 create pods a/web",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, got)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, kind := range Kinds() {
		of := 0
		for _, is := range []bool{kind.IsCrash(), slices.Contains(Errors(), kind), kind.IsCut(), kind.IsWatch()} {
			if is {
				of++
			}
		}
		if of != 1 {
			t.Errorf("%s belongs to %d groups", kind, of)
		}
	}
}
