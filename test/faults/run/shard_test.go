package run

import (
	"fmt"
	"testing"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"": {}, "1/1": {1, 1}, "2/3": {2, 3}, "12/12": {12, 12}} {
		if got, err := ParseShard(text); err != nil || got != want {
			t.Errorf("ParseShard(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0/2", "3/2", "-1/2", "1", "1/", "/2", "1/2/3", "1/2x", "one/two"} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("ParseShard(%q) = %v, and no error", text, got)
		}
	}
}

// Each run is in exactly one shard, and no shard has much more than its share.
func TestShardsDivide(t *testing.T) {
	const runs = 4000
	for n := 1; n <= 8; n++ {
		counts := make([]int, n)
		for i := range runs {
			key, homes := keyOf(Crash, "pod-deleted", fmt.Sprintf("crash-before-send p1 create pods team-lane/web-%d 1", i)), 0
			for k := range n {
				if (Shard{k + 1, n}).has(key) {
					counts[k]++
					homes++
				}
			}
			if homes != 1 {
				t.Fatalf("of %d shards %d have the run %d", n, homes, i)
			}
		}
		for k, count := range counts {
			if fair := runs / n; count < fair*8/10 || count > fair*12/10 {
				t.Errorf("shard %d/%d has %d runs of %d", k+1, n, count, runs)
			}
		}
	}
	if !(Shard{}).has("anything") {
		t.Error("what is not divided lacks a run")
	}
}

// The shard of a run must not depend on the version of Go or the machine.
func TestShardIsStable(t *testing.T) {
	got := ""
	for i := range 12 {
		for k := range 3 {
			if (Shard{k + 1, 3}).has(fmt.Sprintf("run %d", i)) {
				got += fmt.Sprint(k + 1)
			}
		}
	}
	if want := "323221112121"; got != want {
		t.Errorf("twelve runs are in the shards %s, want %s", got, want)
	}
}
