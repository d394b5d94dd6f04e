package merge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNextWrite(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	write := func(call, item, value string) Write {
		return Write{Call: call, Item: item, Version: "v1", Sent: map[string]Text{"a": textOf(value)}}
	}
	refusal := func(w Write, wait time.Duration) Refusal {
		return Refusal{Call: w.Call, Item: w.Item, Sent: w.Sent, Version: w.Version, Until: now.Add(wait)}
	}
	stale := refusal(write("size", "p", "1"), time.Minute)
	stale.Stale, stale.Version = true, "v0"
	upgrade, p, q := write("upgrade", "", "2"), write("size", "p", "1"), write("size", "q", "1")
	create, gone := write("create", "p", "true"), write("delete", "q", "null")
	tests := map[string]struct {
		writes  []Write
		refused []Refusal
		// want is the index of the write; -1 is none.
		want int
		// troubled is an item that does not work. The spec has p.
		troubled string
		changing []string
	}{
		"nothing to send":                          {want: -1},
		"the first one":                            {writes: []Write{upgrade, p}, want: 0},
		"the first one waits":                      {writes: []Write{upgrade, p}, refused: []Refusal{refusal(upgrade, time.Hour)}, want: 1},
		"all of them wait":                         {writes: []Write{p, q}, refused: []Refusal{refusal(p, time.Hour), refusal(q, time.Second)}, want: -1},
		"it is due":                                {writes: []Write{p}, refused: []Refusal{refusal(p, 0)}, want: 0},
		"the clock has jumped back":                {writes: []Write{p}, refused: []Refusal{refusal(p, 2*time.Hour)}, want: 0},
		"another value":                            {writes: []Write{p}, refused: []Refusal{refusal(write("size", "p", "2"), time.Hour)}, want: 0},
		"another pool":                             {writes: []Write{p}, refused: []Refusal{refusal(q, time.Hour)}, want: 0},
		"another call":                             {writes: []Write{p}, refused: []Refusal{refusal(write("pool", "p", "1"), time.Hour)}, want: 0},
		"another version":                          {writes: []Write{p}, refused: []Refusal{stale}, want: 0},
		"another version, and the value is bad":    {writes: []Write{p}, refused: []Refusal{func() Refusal { r := stale; r.Stale = false; return r }()}, want: -1},
		"a pool that replaces another is refused":  {writes: []Write{create, gone, p}, refused: []Refusal{refusal(create, time.Hour)}, want: 2},
		"a pool that replaces another is broken":   {writes: []Write{gone, p}, troubled: `pools["p"]`, want: 1},
		"a broken pool is deleted":                 {writes: []Write{gone, p}, troubled: `pools["q"]`},
		"a broken pool holds up no new one":        {writes: []Write{create, gone}, troubled: `pools["p"]`},
		"another pool is changed":                  {writes: []Write{p}, changing: []string{"q"}},
		"the same pool is changed":                 {writes: []Write{p, q}, changing: []string{"p"}, want: 1},
		"the cluster is changed":                   {writes: []Write{p, q}, changing: []string{""}, want: -1},
		"a pool is changed, and the cluster waits": {writes: []Write{upgrade, p}, changing: []string{"q"}, want: -1},
		"one is refused, and does not hold up":     {writes: []Write{upgrade, p}, refused: []Refusal{refusal(upgrade, time.Hour)}, changing: []string{"q"}, want: 1},
		"a call that is alone":                     {writes: []Write{write("pool", "p", "1")}, changing: []string{"q"}, want: -1},
		"a replacement is being changed":           {writes: []Write{gone, p}, changing: []string{`pools["p"]`}, want: 1},
		"one of two that are deleted":              {writes: []Write{gone}, changing: []string{`pools["r"]`}},
		"a pool is deleted, and others wait":       {writes: []Write{gone, p}, refused: []Refusal{refusal(p, time.Hour)}, want: 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := Plan{Writes: test.writes, Leaves: []Leaf{{Path: `pools["p"]`, Spec: "true"}, {Path: `pools["q"]`, Spec: Null}}}
			got, next := -1, toy.Next(plan, Held{Refused: test.refused, Troubled: []string{test.troubled}, Changing: test.changing, Now: now})
			for i := range test.writes {
				if next == &test.writes[i] {
					got = i
				}
			}
			if got != test.want {
				t.Errorf("got write %d, want %d", got, test.want)
			}
		})
	}
}

// TestWaits: what waits says for what.
func TestWaits(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	create, gone := Write{Call: "create", Item: `pools["p"]`}, Write{Call: "delete", Item: `pools["q"]`}
	plan := Plan{Writes: []Write{create, gone}, Leaves: []Leaf{{Path: `pools["p"]`, Spec: "true"}}}
	refused := []Refusal{{Call: create.Call, Item: create.Item, Until: now.Add(time.Hour)}}
	tests := map[string]struct {
		held Held
		want []Wait
	}{
		"nothing":   {Held{Now: now}, []Wait{{}, {}}},
		"a refusal": {Held{Refused: refused, Now: now}, []Wait{{Refused: true}, {For: `create pools["p"] was refused`}}},
		"a trouble": {Held{Troubled: []string{`pools["p"]`}, Now: now}, []Wait{{}, {For: `pools["p"] does not work yet`}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, toy.Waits(plan, test.held)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWaitsForMissing: nothing is deleted while an item of the spec is missing in the cloud and not created.
func TestWaitsForMissing(t *testing.T) {
	create, gone := Write{Call: "create", Item: `pools["p"]`}, Write{Call: "delete", Item: `pools["q"]`}
	missing := Leaf{Path: `pools["p"]`, Spec: "true", Upstream: Null, Item: true}
	field, there, unwanted := missing, missing, missing
	field.Item, there.Upstream, unwanted.Spec = false, "true", Null
	tests := map[string]struct {
		leaf   Leaf
		writes []Write
		want   []Wait
	}{
		"it is missing":      {missing, []Write{gone}, []Wait{{For: `pools["p"] is in the spec, and the cloud does not have it: remove it from the spec, or change one of its fields to create it again`}}},
		"it is created":      {missing, []Write{create, gone}, []Wait{{}, {}}},
		"a field is not set": {field, []Write{gone}, []Wait{{}}},
		"it is there":        {there, []Write{gone}, []Wait{{}}},
		"the spec lacks it":  {unwanted, []Write{gone}, []Wait{{}}},
		"nothing is deleted": {missing, []Write{{Call: "size", Item: `pools["q"]`}}, []Wait{{}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, toy.Waits(Plan{Writes: test.writes, Leaves: []Leaf{test.leaf}}, Held{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
