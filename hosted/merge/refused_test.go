package merge

import (
	"testing"
	"time"
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
	}{
		"nothing to send":                         {nil, nil, -1},
		"the first one":                           {[]Write{upgrade, p}, nil, 0},
		"the first one waits":                     {[]Write{upgrade, p}, []Refusal{refusal(upgrade, time.Hour)}, 1},
		"all of them wait":                        {[]Write{p, q}, []Refusal{refusal(p, time.Hour), refusal(q, time.Second)}, -1},
		"it is due":                               {[]Write{p}, []Refusal{refusal(p, 0)}, 0},
		"the clock has jumped back":               {[]Write{p}, []Refusal{refusal(p, 2*time.Hour)}, 0},
		"another value":                           {[]Write{p}, []Refusal{refusal(write("size", "p", "2"), time.Hour)}, 0},
		"another pool":                            {[]Write{p}, []Refusal{refusal(q, time.Hour)}, 0},
		"another call":                            {[]Write{p}, []Refusal{refusal(write("pool", "p", "1"), time.Hour)}, 0},
		"another version":                         {[]Write{p}, []Refusal{stale}, 0},
		"another version, and the value is bad":   {[]Write{p}, []Refusal{func() Refusal { r := stale; r.Stale = false; return r }()}, -1},
		"a pool that replaces another is refused": {[]Write{create, gone, p}, []Refusal{refusal(create, time.Hour)}, 2},
		"a pool is deleted, and others wait":      {[]Write{gone, p}, []Refusal{refusal(p, time.Hour)}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, next := -1, toy.Next(test.writes, test.refused, now)
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
