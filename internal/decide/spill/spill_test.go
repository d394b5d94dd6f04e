package spill

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	three = []Tier{{Local: true, After: DefaultAfter}, {Clusters: []string{"eu"}, After: 10 * time.Second}, {Clusters: []string{"us"}, After: time.Minute}}
	hole  = []Tier{{After: DefaultAfter}, {Clusters: []string{"eu"}, After: 10 * time.Second}, {After: time.Hour}, {Clusters: []string{"us"}, After: time.Minute}}
)

func tolerating(ids ...string) func(string) bool {
	return func(id string) bool {
		for _, tolerated := range ids {
			if id == tolerated {
				return true
			}
		}
		return false
	}
}

// TestNext shows what is decided. The model shows what that leads to.
func TestNext(t *testing.T) {
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for name, test := range map[string]struct {
		tiers []Tier
		w     Waiting
		now   int
		want  Decision
	}{
		"no tiers":                       {nil, Waiting{Since: start}, 100, Decision{}},
		"not tried yet":                  {three, Waiting{}, 100, Decision{}},
		"just tried":                     {three, Waiting{Since: start, Seen: true}, 4, Decision{Wait: 6 * time.Second}},
		"for long enough":                {three, Waiting{Since: start, Seen: true}, 10, Decision{Tier: 1, Opens: true}},
		"the second tier is open":        {three, Waiting{Since: start, Seen: true, Opened: Opened{{1, at(10)}}}, 20, Decision{Tier: 1, Wait: 50 * time.Second}},
		"for long enough again":          {three, Waiting{Since: start, Seen: true, Opened: Opened{{1, at(10)}}}, 70, Decision{Tier: 2, Opens: true}},
		"not tried in the second":        {three, Waiting{Since: start, Opened: Opened{{1, at(10)}}}, 70, Decision{Tier: 1, Wait: Unseen}},
		"that does not last":             {three, Waiting{Since: start, Opened: Opened{{1, at(10)}}}, 130, Decision{Tier: 2, Opens: true}},
		"the scheduler cannot say":       {three, Waiting{Since: start, Blind: true, Opened: Opened{{1, at(10)}}}, 70, Decision{Tier: 1, Wait: Blind}},
		"others make room for it":        {three, Waiting{Since: start, Seen: true, Nominated: true}, 10, Decision{Wait: Preempting}},
		"others have made room":          {three, Waiting{Since: start, Seen: true, Nominated: true}, 70, Decision{Tier: 1, Opens: true}},
		"the last tier is open":          {three, Waiting{Since: start, Seen: true, Opened: Opened{{1, at(10)}, {2, at(70)}}}, 75, Decision{Tier: 2, Wait: 5 * time.Second}},
		"it fits in none":                {three, Waiting{Since: start, Seen: true, Opened: Opened{{1, at(10)}, {2, at(70)}}}, 80, Decision{Tier: 2, FitsNone: true}},
		"the clock was set back":         {three, Waiting{Since: at(3600), Seen: true}, 0, Decision{Tier: 1, Opens: true}},
		"the scheduler's clock is ahead": {three, Waiting{Since: at(5), Seen: true}, 0, Decision{Wait: 15 * time.Second}},
		"it tolerates all tiers":         {three, Waiting{Since: start, Seen: true, Tolerates: tolerating("eu", "us")}, 10, Decision{Tier: 2, FitsNone: true}},
		"it tolerates the last tier":     {three, Waiting{Since: start, Seen: true, Tolerates: tolerating("us")}, 10, Decision{Tier: 2}},
		"a provider is new":              {three, Waiting{Since: start, Seen: true, Opened: Opened{{1, at(10)}}, Tolerates: tolerating()}, 100, Decision{Tier: 1}},
		"it got its tolerations late":    {three, Waiting{Since: start, Seen: true, Opened: Opened{{0, at(95)}}}, 100, Decision{Wait: 5 * time.Second}},
		"fewer tiers than before":        {three[:2], Waiting{Since: start, Seen: true, Opened: Opened{{2, start}}}, 10, Decision{Tier: 1, FitsNone: true}},
		"an empty first tier":            {hole, Waiting{}, 0, Decision{Tier: 1}},
		"an empty tier between":          {hole, Waiting{Since: start, Seen: true}, 60, Decision{Tier: 3, Opens: true}},
		"all tiers are empty":            {hole[:1], Waiting{Since: start, Seen: true}, 10, Decision{FitsNone: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.w.Tolerates == nil && len(test.tiers) > 0 {
				test.w.Tolerates = tolerating(Open(test.tiers, current(test.tiers, test.w))...)
			}
			if diff := cmp.Diff(test.want, Next(test.tiers, test.w, at(test.now))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpened(t *testing.T) {
	const text = "1=2026-01-02T03:04:05Z,2=2026-01-02T03:04:15Z"
	opened := Opened{}.With(1, start).With(2, start.Add(10*time.Second))
	if got := opened.String(); got != text {
		t.Errorf("it is written as %s", got)
	}
	later := start.Add(time.Minute)
	if diff := cmp.Diff(Opened{{1, start}, {2, later}}, opened.With(1, later)); diff != "" {
		t.Errorf("with another provider (-want +got):\n%s", diff)
	}
	for text, want := range map[string]int{text: 2, "": 0, "x": 0, "1": 0, "1=soon": 0, "0=2026-01-02T03:04:05Z": 1, text + ",2=2026-01-02T03:04:15Z": 2, text + ",3=x": 2, "300=2026-01-02T03:04:05Z": 0} {
		if got := ParseOpened(text); len(got) != want {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	if diff := cmp.Diff(opened, ParseOpened(text)); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestFullForgetsSizes(t *testing.T) {
	var f Full
	for n := int64(1); n <= mostSizes+1; n++ { // None has as much of both as another.
		f.Refused("eu", "team", Size{{"cpu", n}, {"memory", 100 - n}}, Why{}, start)
	}
	if n := len(f.entries[place{"eu", "team"}]); n != 1 {
		t.Errorf("%d sizes are remembered", n)
	}
	smallest := Size{{"cpu", 1}, {"memory", 91}}
	if open, wait := f.Open("eu", "team", smallest, start); open || wait != firstBackoff {
		t.Errorf("the smallest is welcome: %v, or after %v", open, wait)
	}
	if open, _ := f.Open("eu", "other", smallest, start); !open {
		t.Error("another namespace is kept away")
	}
	if open, _ := f.Open("eu", "team", Size{{"cpu", 1}}, start); !open {
		t.Error("a pod that requests less is kept away")
	}
}
