package performance

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTimingOf(t *testing.T) {
	var each []time.Duration
	for i := 100; i > 0; i-- {
		each = append(each, time.Duration(i)*time.Second)
	}
	if got, want := timingOf(each, 2*time.Minute), (Timing{Seconds: 120, P50: 50, P99: 99}); got != want {
		t.Errorf("of 100: got %+v, want %+v", got, want)
	}
	if got := timingOf(nil, 0); got != (Timing{}) {
		t.Errorf("of none: got %+v", got)
	}
}

func TestRatio(t *testing.T) {
	if r := (comparison{}).of([]float64{4, 5, 100}, []float64{2, 2, 3}); r.ratio != 2.5 || math.Round(100*r.spread) != 50 {
		t.Errorf("the median of three ratios is %+v", r)
	}
	bound := func(bound float64, more bool) comparison { return comparison{bound: bound, more: more} }
	for what, test := range map[string]struct {
		ratio
		want string
	}{
		"no bound":                 {ratio{ratio: 2}, ""},
		"not compared":             {ratio{comparison: bound(1, false)}, ""},
		"met":                      {ratio{bound(2, false), 2, 0}, holds},
		"as the floor varies":      {ratio{bound(2, false), 2.2, 0.1}, inconclusive},
		"by more":                  {ratio{bound(2, false), 2.3, 0.1}, broken},
		"more is better":           {ratio{bound(0.8, true), 0.8, 0}, holds},
		"less, as the floor does":  {ratio{bound(0.8, true), 0.73, 0.1}, inconclusive},
		"less than the floor does": {ratio{bound(0.8, true), 0.72, 0.1}, broken},
	} {
		if got := test.verdict(); got != test.want {
			t.Errorf("%s: got %q, want %q", what, got, test.want)
		}
	}
}

func TestCompare(t *testing.T) {
	run := func(way Way, create, remove float64) PodsRun {
		timing := func(seconds float64) Timing { return Timing{seconds, seconds, seconds} }
		return PodsRun{Way: way, Create: timing(create), Delete: timing(remove), CPU: CPU{1, 1, 1}, Cost: Cost{PodWrites: 500, StatusWrites: 200}}
	}
	runs := []PodsRun{run(Floor, 1, 1), run(Ours, 1, 100), run(Floor, 1, 1), run(Ours, 1, 100)}
	text, errs := compare(PodsCase{N: 100, Providers: 1}, runs)
	if len(errs) > 0 {
		t.Errorf("a case without bounds breaks %v", errs)
	}
	if fields := strings.Join(strings.Fields(text), " "); !strings.Contains(fields, "pods/s to Ready 100.0 100.0 1.00 0 % –") {
		t.Errorf("got\n%s", text)
	}
	_, errs = compare(boundedCase, runs)
	if err := errors.Join(errs...); len(errs) != 1 || !strings.Contains(err.Error(), "seconds until all are deleted, ratio to the floor: 100.00, want ≤ 1.30") {
		t.Errorf("got %v, want an error about the deletion", err)
	}
}

func TestPodsBounds(t *testing.T) {
	for want, spoil := range map[string]func(*Cost){
		"": func(*Cost) {},
		"without one for each change of a status there: 305 (≤ 300)": func(c *Cost) { c.StatusChanges = 200 },
		"writes of pods: 511 (500 to 510)":                           func(c *Cost) { c.PodWrites = 511 },
		"writes of pods: 499 (500 to 510)":                           func(c *Cost) { c.PodWrites = 499 },
		"reads: 1 (= 0)":                                             func(c *Cost) { c.Reads = 1 },
		"other writes: 11 (≤ 10)":                                    func(c *Cost) { c.OtherWrites = 11 },
		"watches begun: 4 (≤ 3)":                                     func(c *Cost) { c.Watches, c.Renewals, c.Slow = 4, 2, 1 },
		"more watches open: 1 (= 0)":                                 func(c *Cost) { c.Opened = 1 },
	} {
		cost := Cost{PodWrites: 505, StatusWrites: 205, StatusChanges: 300}
		spoil(&cost)
		_, errs := table("", column{"", cost.figures(PodsCase{N: 100, Providers: 1})})
		if want == "" && len(errs) > 0 || want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), want)) {
			t.Errorf("got %v, want one error about %q", errs, want)
		}
	}
}

func TestWatches(t *testing.T) {
	open := map[string]int{"p1: pods": 1, "consumer: pods": 2}
	if more := opened(open, map[string]int{"consumer: pods": 2}); len(more) > 0 {
		t.Errorf("fewer watches: %v", more)
	}
	if more := opened(open, map[string]int{"consumer: pods": 3, "p1: secrets": 1}); !slices.Equal(more, []string{"consumer: pods", "p1: secrets"}) {
		t.Errorf("got %v, want two", more)
	}
	for during, want := range map[time.Duration]int{time.Minute: 3, 5 * time.Minute: 6, 9 * time.Minute: 6} {
		if got := mostRenewals(open, during); got != want {
			t.Errorf("%s: got %d renewals, want %d", during, got, want)
		}
	}
}
