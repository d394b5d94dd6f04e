package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	session := record{Session: &Session{Date: "2026-01-01", Machine: "m", Lanes: 2, Shard: "1/2"}}
	write(t, dir, Header{Code: "a", Shard: Shard{1, 2}},
		session, record{At: 3, Reference: learnt(there, here)}, record{At: 5, Run: crashAt(there)},
		session, record{At: 4, Again: 2}, record{At: 7, Ended: true})
	write(t, dir, Header{Code: "a", Shard: Shard{2, 2}},
		session, record{Reference: learnt(here, there, other)}, record{At: 10, Run: crashAt(here)},
		record{At: 11, Caught: &Caught{Bug: "a", By: []string{"crash: make faults"}}}, record{At: 12, Ended: true})
	report, err := Merge(dir, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	const want = "1 scenarios, 3 points (something went wrong at 2 of them), 2 runs (0 of them without their fault), 0 divergences, 1 of 1 seeded bugs caught"
	if got := report.Summary(); got != want {
		t.Errorf("Summary() = %q, want %q", got, want)
	}
	if diff := cmp.Diff(map[string][]string{pod: {other.String()}}, report.Spared); diff != "" {
		t.Errorf("spared (-want +got):\n%s", diff)
	}
	if report.Seconds != 5+7+12 || report.Again != 2 {
		t.Errorf("it took %.0f s, and %d runs were played again", report.Seconds, report.Again)
	}
	text := report.Markdown()
	if !strings.Contains(text, "in 3 pieces") || !strings.Contains(text, "| 2 | 1/2 | 2026-01-01 | m | 2 | 7s |") {
		t.Errorf("it is not said of which pieces it is:\n%s", text)
	}
	// Three points have nine crashes, and two were played.
	if len(report.Unplayed) != 7 || !strings.Contains(text, "7 runs were played in no shard") {
		t.Errorf("what nobody played is %v", report.Unplayed)
	}
}

// A single journal that was never interrupted is reported without pieces and shards.
func TestMergeOfOne(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, Header{Code: "a"}, record{Session: &Session{}}, record{Reference: learnt(there)}, record{Run: crashAt(there)}, record{Ended: true})
	report, err := Merge(dir, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	if text := report.Markdown(); strings.Contains(text, "piece") || strings.Contains(text, "shard") {
		t.Errorf("of what is whole pieces are told:\n%s", text)
	}
}

func TestMergeKeepsDivergences(t *testing.T) {
	dir, diverged := t.TempDir(), crashAt(there)
	diverged.Problems = []string{"it differs"}
	what := &repeated{Part: Crash, Command: commandOf(pod, diverged.Recipe), Smallest: "make faults SMALL", Again: true}
	write(t, dir, Header{Code: "a"}, record{Session: &Session{}}, record{Reference: learnt(there)},
		record{Run: diverged}, record{Repeated: what}, record{Ended: true})
	report, err := Merge(dir, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	if d := report.Divergences; len(d) != 1 || !d[0].Repeated || !d[0].Again || d[0].Smallest != "make faults SMALL" {
		t.Errorf("the divergences are %+v", d)
	}
}

func TestMergeRefuses(t *testing.T) {
	ended := record{Ended: true}
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		want error
		says string
	}{
		"nothing": {func(*testing.T, string) {}, ErrIncomplete, "none"},
		"a shard that is missing": {func(t *testing.T, dir string) {
			write(t, dir, Header{Code: "a", Shard: Shard{1, 3}}, ended)
			write(t, dir, Header{Code: "a", Shard: Shard{3, 3}}, ended)
		}, ErrIncomplete, "2/3"},
		"a shard that is not done": {func(t *testing.T, dir string) {
			write(t, dir, Header{Code: "a", Shard: Shard{1, 2}}, ended)
			write(t, dir, Header{Code: "a", Shard: Shard{2, 2}}, record{Run: crashAt(there)})
		}, ErrIncomplete, "2/2"},
		"other code": {func(t *testing.T, dir string) {
			write(t, dir, Header{Code: "a", Shard: Shard{1, 2}}, ended)
			write(t, dir, Header{Code: "b", Shard: Shard{2, 2}}, ended)
		}, ErrOtherCode, "2-of-2"},
		"two divisions": {func(t *testing.T, dir string) {
			write(t, dir, Header{Code: "a", Shard: Shard{1, 2}}, ended)
			write(t, dir, Header{Code: "a", Shard: Shard{2, 3}}, ended)
		}, nil, "different divisions"},
		"other settings only": {func(t *testing.T, dir string) {
			write(t, dir, Header{Code: "a", Settings: "FAST='1'"}, ended)
		}, ErrIncomplete, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, dir)
			_, err := Merge(dir, "a", "")
			if err == nil || !strings.Contains(err.Error(), c.says) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("merging says %v; want %v, and %q", err, c.want, c.says)
			}
		})
	}
}

// A run is known even if it is in no shard's own reference, because other shards' runs led to it.
func TestUnplayedKnowsPairs(t *testing.T) {
	first := crashAt(there)
	first.Part = Pairs
	next := recipe.Recipe{{At: there, Kind: recipe.CrashBeforeSend}, {At: here, Kind: recipe.CrashAfterCommit}}
	first.Next = []string{next.String()}
	got := unplayed([]*Journal{{records: []record{{Run: first}}}})
	if diff := cmp.Diff([]string{commandOf(pod, next.String())}, got); diff != "" {
		t.Errorf("unplayed (-want +got):\n%s", diff)
	}
}

func TestCode(t *testing.T) {
	root := t.TempDir()
	for _, part := range codeIn() {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(part)), 0o755), os.WriteFile(filepath.Join(root, part), []byte(part), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	of := func() string {
		code, err := Code(root)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	before := of()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if write("README.md"); of() != before {
		t.Error("the README is code")
	}
	if write("go.sum"); of() == before {
		t.Error("what the versions are does not count")
	}
}
