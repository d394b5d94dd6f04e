package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
	"github.com/spillway-io/spillway/test/faults/seeded"
)

var (
	there = recipe.Point{Cluster: "p1", Verb: "create", Resource: "pods", Namespace: "team-lane", Name: "web", Occurrence: 1}
	other = recipe.Point{Cluster: "p2", Verb: "create", Resource: "pods", Namespace: "team-lane", Name: "second", Occurrence: 1}
	here  = recipe.Point{Cluster: "consumer", Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "team", Name: "web", Occurrence: 1}
	also  = recipe.Point{Cluster: "consumer", Verb: "patch", Resource: "pods", Subresource: "status", Namespace: "team", Name: "second", Occurrence: 1}
)

func TestRecipesOf(t *testing.T) {
	reference := &Outcome{Points: []recipe.Point{there, here}, Events: map[inject.Stream]int{{Cluster: "p1", Resource: "pods"}: 2, {Cluster: "consumer", Resource: "pods"}: 40}}
	for part, want := range map[Part]int{
		Crash:   2 * 3,
		Errors:  2 * 8,
		Cuts:    2 * 2,
		Pairs:   2 * 2,
		Watches: (2 + 2*2) + (2 + 2*eventsFrom),
		Seeded:  0,
	} {
		seen := map[string]bool{}
		for _, r := range recipesOf(part, reference, nil) {
			seen[r.String()] = true
		}
		if len(seen) != want {
			t.Errorf("%s: %d recipes, want %d: %v", part, len(seen), want, seen)
		}
	}
	want := []recipe.Recipe{{{At: there, Kind: recipe.CrashBeforeSend}}, {{At: here, Kind: recipe.CrashBeforeSend}}}
	if diff := cmp.Diff(want, recipesOf(Crash, reference, []recipe.Kind{recipe.CrashBeforeSend})); diff != "" {
		t.Errorf("crashes of one kind (-want +got):\n%s", diff)
	}
}

func TestPairs(t *testing.T) {
	first := recipe.Recipe{{At: there, Kind: recipe.CrashBeforeSend}}
	again := there
	again.Occurrence = 2
	outcome := &Outcome{Points: []recipe.Point{there, again, here}, Fired: []inject.Firing{{Fault: first[0], Points: 1}}}
	want := []recipe.Recipe{
		{first[0], {At: again, Kind: recipe.CrashAfterCommit}},
		{first[0], {At: here, Kind: recipe.CrashAfterCommit}},
	}
	if diff := cmp.Diff(want, pairs(first, outcome)); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if got := pairs(want[0], outcome); got != nil {
		t.Errorf("of a pair there are pairs: %v", got)
	}
	if got := pairs(first, &Outcome{}); got != nil {
		t.Errorf("of a crash that did not happen there are pairs: %v", got)
	}
}

func TestMeanwhile(t *testing.T) {
	end, early := other, other
	end.Verb, early.Name = "delete", "first"
	r := Run{
		Scenario: scenario.Scenario{Name: independent},
		Want:     &Outcome{Points: []recipe.Point{early, there, other, here, also, end}, Steps: []int{0, 5}},
		Recipe:   recipe.Recipe{{At: there, Kind: recipe.CutReset}},
	}
	if diff := cmp.Diff([]recipe.Point{other, also}, meanwhile(r)); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	r.Recipe[0].At = other
	if got := meanwhile(r); got != nil {
		t.Errorf("what came before the cut is to come: %v", got)
	}
	r.Recipe[0].At = here
	if got := meanwhile(r); got != nil {
		t.Errorf("when the consumer is away, nothing goes on, but %v is to come", got)
	}
}

func TestIsolation(t *testing.T) {
	at := func(seconds ...int) []time.Time {
		var times []time.Time
		for _, s := range seconds {
			times = append(times, time.Unix(int64(s), 0))
		}
		return times
	}
	r := Run{
		Scenario: scenario.Scenario{Name: independent},
		Want:     &Outcome{Points: []recipe.Point{there, other, also}, Times: at(0, 1, 2), Steps: []int{0}},
		Recipe:   recipe.Recipe{{At: there, Kind: recipe.CutReset}},
	}
	fired := []inject.Firing{{Fault: r.Recipe[0], Points: 1}}
	var i Isolation
	i.note(r, &Outcome{Points: []recipe.Point{there, other, there, also}, Times: at(10, 11, 12, 14), Fired: fired})
	i.note(r, &Outcome{Points: []recipe.Point{there}, Times: at(10), Fired: fired, Problems: []string{"it waits"}})
	i.note(r, &Outcome{})
	if diff := cmp.Diff(Isolation{Runs: 1, Slowest: 4, Undisturbed: 2}, i); diff != "" {
		t.Errorf("isolation (-want +got):\n%s", diff)
	}
	if got := cutAt([]inject.Firing{{Fault: recipe.Fault{Kind: recipe.Conflict}, Points: 1}, {Fault: r.Recipe[0], Points: 7}}); got != 7 {
		t.Errorf("the cut came after %d writes, not 7", got)
	}
}

func TestMask(t *testing.T) {
	m := mask("c1")
	for name, want := range map[string]string{
		"team-c1": "team-lane", "c1": "lane", "team-c10": "team-c10", "web": "web",
		"data-0123456789abcdef0123456789abcdef": "data-hash", "spillway-p1-02f95f19-7d3b-4036-bcaa-44105a1d4c89": "spillway-p1-hash",
	} {
		if got := m(name); got != want {
			t.Errorf("mask(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestTolerated(t *testing.T) {
	const key, fine = "consumer Pod team/web", "status:\n  conditions:\n  - status: \"True\"\n    type: Ready\n"
	offloaded := fine + "  - status: \"True\"\n    type: spillway.io/Offloaded\n"
	if diff := oracle.Diff(oracle.State{key: fine}, tolerated(oracle.State{key: offloaded})); diff != "" {
		t.Error(diff)
	}
	refused := strings.Replace(offloaded, "\"True\"\n    type: spillway", "\"False\"\n    type: spillway", 1)
	if diff := oracle.Diff(oracle.State{key: fine}, tolerated(oracle.State{key: refused})); diff == "" {
		t.Error("a pod that is refused counts as one that is not")
	}
	const binding = "consumer ClusterBinding p1"
	writes := fine + "  - status: \"True\"\n    type: WritesRefused\n"
	if diff := oracle.Diff(oracle.State{binding: fine}, tolerated(oracle.State{binding: writes})); diff != "" {
		t.Error(diff)
	}
}

func TestExcesses(t *testing.T) {
	one := &Outcome{Points: []recipe.Point{there}}
	most := &Outcome{Points: make([]recipe.Point, excess+slack)}
	more := &Outcome{Points: make([]recipe.Point, excess+slack+1)}
	r := Run{Want: one}
	if r.excesses(one) != nil || r.excesses(most) != nil || (Run{}).excesses(more) != nil {
		t.Error("what is within the bound is too much")
	}
	if len(r.excesses(more)) != 1 {
		t.Error("nothing is too much")
	}
	r.Recipe = recipe.Recipe{{At: there, Kind: recipe.CutReset}}
	if r.excesses(more) != nil {
		t.Error("what is tried during a cut is too much")
	}
}

// The fast runs must include each kind of fault as well.
func TestFastHasAllKinds(t *testing.T) {
	e := &Engine{options: Options{Fast: true}, scenarios: scenario.All()}
	for part, want := range map[Part][]recipe.Kind{
		Crash: recipe.Crashes(), Errors: recipe.Errors(), Cuts: recipe.Cuts(), Watches: recipe.Watches(), Pairs: firstOfPair(),
	} {
		seen := map[recipe.Kind]bool{}
		for i, name := range e.names() {
			reference := &Outcome{Points: make([]recipe.Point, 1+i%12), Events: map[inject.Stream]int{{Cluster: "p1", Resource: "pods"}: 2, {Cluster: "consumer", Resource: "pods"}: 4}}
			some := e.thinned(part, name, recipesOf(part, reference, nil))
			if len(some) == 0 {
				t.Errorf("%s: no run of scenario %s", part, name)
			}
			for _, r := range some {
				seen[r[0].Kind] = true
			}
		}
		for _, kind := range want {
			if !seen[kind] {
				t.Errorf("%s: no run has a %s", part, kind)
			}
		}
	}
	for _, bug := range fastBugs {
		if !slices.ContainsFunc(e.bugs(), func(d seeded.Description) bool { return d.Bug == bug }) {
			t.Errorf("there is no seeded bug %s", bug)
		}
	}
}

func TestReport(t *testing.T) {
	report := newReport()
	r := Run{Part: Crash, Scenario: scenario.Scenario{Name: "pod"}, Recipe: recipe.Recipe{{At: there, Kind: recipe.CrashBeforeSend}}}
	r.Want = &Outcome{Points: []recipe.Point{there, here}}
	report.points(Reference, "pod", r.Want.Points)
	report.points(OutOfBand, "stranger", r.Want.Points)
	fired := []inject.Firing{{Fault: r.Recipe[0], Points: 1}}
	report.played(r, &Outcome{Fired: fired, Took: time.Second})
	retried := there
	retried.Occurrence++
	report.played(r, &Outcome{})
	report.played(r, &Outcome{Fired: []inject.Firing{{Fault: recipe.Fault{At: retried}, Points: 2}}, Problems: []string{"it differs"}})
	report.Bugs = []Caught{{Bug: "a", By: []string{"crash: make faults"}}, {Bug: "b"}}
	const want = "1 scenarios, 2 points (something went wrong at 1 of them), 3 runs (1 of them without their fault), 1 divergences, 1 of 2 seeded bugs caught"
	if got := report.Summary(); got != want {
		t.Errorf("Summary() = %q, want %q", got, want)
	}
	if want, got := "Nothing went wrong at `"+here.String()+"` (pod)", report.Markdown(); !strings.Contains(got, want) {
		t.Errorf("%q is not in:\n%s", want, got)
	}
	if d := report.Divergences[0]; d.Command != "make faults SCENARIO=pod RECIPE='crash-before-send p1 create pods team-lane/web 1'" {
		t.Errorf("the divergence is %+v", d)
	}
	if diff := cmp.Diff([]Part{Cuts}, report.Untested([]Part{Crash, Cuts, Seeded})); diff != "" {
		t.Errorf("parts of which nothing was tested (-want +got):\n%s", diff)
	}
	if !strings.Contains(report.Table(), "| pod | 2 | 1 of 2 (+1) |") {
		t.Errorf("the table is\n%s", report.Table())
	}
	if text := report.Markdown(); !strings.Contains(text, want) {
		t.Errorf("the document has\n%s", text)
	}
	report.played(Run{Part: Cuts, Scenario: r.Scenario, Recipe: r.Recipe}, &Outcome{})
	if diff := cmp.Diff([]Part{Cuts}, report.Untested([]Part{Crash, Cuts})); diff != "" {
		t.Errorf("what was never reached counts as tested (-want +got):\n%s", diff)
	}
}
