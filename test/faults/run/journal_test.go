package run

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
)

// pod is a scenario that exists: a merge looks up its recipes.
const pod = "pod-deleted"

func crashAt(p recipe.Point) *played {
	fault := recipe.Fault{At: p, Kind: recipe.CrashBeforeSend}
	return playedOf(Run{Part: Crash, Scenario: scenario.Scenario{Name: pod}, Recipe: recipe.Recipe{fault}},
		&Outcome{Fired: []inject.Firing{{Fault: fault, Points: 1}}, Took: time.Second}, nil)
}

func learnt(points ...recipe.Point) *reference {
	return referenceOf(Reference, pod, &Outcome{Points: points, Events: map[inject.Stream]int{{Cluster: "p1", Resource: "pods"}: 2}})
}

// write writes the journal of a shard, and closes it.
func write(t *testing.T, dir string, h Header, records ...record) string {
	t.Helper()
	j, err := Open(dir, h, false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		j.write(r)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return j.path
}

func TestReferenceIsKept(t *testing.T) {
	want := &Outcome{
		Points: []recipe.Point{there, here}, Times: []time.Time{time.Unix(1, 0).UTC(), time.Unix(2, 0).UTC()}, Steps: []int{0, 1},
		Events: map[inject.Stream]int{{Cluster: "p1", Resource: "pods"}: 2, {Cluster: "consumer", Resource: "pods"}: 4},
		State:  map[string]string{"p1 Pod team-lane/web": "kind: Pod\n"}, Counts: map[string]int{"pods": 1},
	}
	dir, h := t.TempDir(), Header{Code: "a"}
	write(t, dir, h, record{Reference: referenceOf(Reference, pod, want)})
	j, err := Open(dir, h, true, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	before := newProgress()
	for _, r := range j.records {
		before.apply(r)
	}
	if diff := cmp.Diff(want, before.outcomes()[pod]); diff != "" {
		t.Errorf("the reference (-want +got):\n%s", diff)
	}
}

// A process that is killed may leave half a line.
func TestResumeAfterABrokenLine(t *testing.T) {
	dir, h := t.TempDir(), Header{Code: "a", Shard: Shard{1, 2}}
	path := write(t, dir, h, record{Run: crashAt(there)})
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(`{"Run":{"Part":"crash","Scen`)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 3} { // The header and the run, and then one more.
		j, err := Open(dir, h, true, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.records) != want {
			t.Errorf("%d records were kept, want %d", len(j.records), want)
		}
		j.write(record{Run: crashAt(here)})
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestResumeRefusesWhatIsBrokenWithin(t *testing.T) {
	dir, h := t.TempDir(), Header{Code: "a"}
	path := write(t, dir, h)
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(string(raw)+"{\"Run\":\n{}\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, h, true, io.Discard); err == nil {
		t.Error("a line that is broken in the middle was passed over")
	}
}

func TestResumeRefusesOtherCode(t *testing.T) {
	dir := t.TempDir()
	was := Header{Code: "a", Shard: Shard{1, 2}}
	write(t, dir, was, record{Run: crashAt(there)})
	other := was
	other.Code = "b"
	if _, err := Open(dir, other, true, io.Discard); !errors.Is(err, ErrOtherCode) {
		t.Errorf("what other code has done was resumed: %v", err)
	}
	if _, err := Open(dir, Header{Code: "a", Shard: Shard{2, 2}}, true, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another shard was resumed: %v", err)
	}
	if _, err := Open(dir, Header{Code: "a", Settings: "FAST='1'", Shard: Shard{1, 2}}, true, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("other settings were resumed: %v", err)
	}
}

// A user who forgets RESUME=1 loses no unfinished journal.
func TestWhatIsBegunAnewIsSetAside(t *testing.T) {
	dir, h := t.TempDir(), Header{Code: "a"}
	write(t, dir, h, record{Run: crashAt(there)})
	var said strings.Builder
	j, err := Open(dir, h, false, &said)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	if len(j.records) != 0 || !strings.Contains(said.String(), "RESUME=1") {
		t.Errorf("begun anew with %d records, saying %q", len(j.records), said.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "full.1-of-1.unfinished")); err != nil {
		t.Error(err)
	}
}

// A resumed run plays only what is left.
func TestResumedEngineLeavesOutWhatWasPlayed(t *testing.T) {
	first := recipe.Recipe{{At: there, Kind: recipe.CrashBeforeSend}}
	pair := recipe.Recipe{first[0], {At: here, Kind: recipe.CrashAfterCommit}}
	e := &Engine{before: newProgress(), references: map[string]*Outcome{}, scenarios: scenario.All()}
	s := e.scenarios[0]
	if got := e.left(Pairs, s, first, time.Second); len(got) != 1 || got[0].Hold != time.Second {
		t.Errorf("of what was not played there are %d runs left", len(got))
	}
	e.before.apply(record{Run: &played{Part: Pairs, Scenario: s.Name, Recipe: first.String(), Next: []string{pair.String()}}})
	got := e.left(Pairs, s, first, 0)
	if len(got) != 1 || got[0].Recipe.String() != pair.String() {
		t.Errorf("after the first of a pair there are left: %v", got)
	}
	e.before.apply(record{Run: &played{Part: Pairs, Scenario: s.Name, Recipe: pair.String()}})
	if got := e.left(Pairs, s, first, 0); got != nil {
		t.Errorf("when all was played there are left: %v", got)
	}
	if got := e.left(Crash, s, first, 0); len(got) != 1 {
		t.Error("the same recipe of another part is taken for played")
	}
}

func TestEnginesOfShardsDivide(t *testing.T) {
	recipes := recipesOf(Errors, &Outcome{Points: []recipe.Point{there, here, other, also}})
	seen := map[string]int{}
	for k := range 3 {
		e := &Engine{options: Options{Shard: Shard{k + 1, 3}}, before: newProgress(), references: map[string]*Outcome{}, scenarios: scenario.All()}
		for _, r := range recipes {
			for _, j := range e.left(Errors, e.scenarios[0], r, 0) {
				seen[j.Recipe.String()]++
			}
		}
	}
	for _, r := range recipes {
		if seen[r.String()] != 1 {
			t.Errorf("%d shards have %s", seen[r.String()], r)
		}
	}
}
