package performance

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/requests"
)

func TestTimingOf(t *testing.T) {
	var each []time.Duration
	for i := 100; i > 0; i-- {
		each = append(each, time.Duration(i)*time.Second)
	}
	if got, want := timingOf(each, 2*time.Minute), (Timing{Seconds: 120, P50: 50, P90: 90, P99: 99}); got != want {
		t.Errorf("of 100: got %+v, want %+v", got, want)
	}
	if got, want := timingOf([]time.Duration{time.Second}, time.Second), (Timing{1, 1, 1, 1}); got != want {
		t.Errorf("of one: got %+v, want %+v", got, want)
	}
	if got := timingOf(nil, 0); got != (Timing{}) {
		t.Errorf("of none: got %+v", got)
	}
}

// inThreeWays is a result with two rounds of Spillway and the floor.
func inThreeWays() PodsResult {
	key := requests.Key{Cluster: "p1", Verb: requests.Create, Resource: "pods", Class: requests.Work}
	cost := func(writes int) *Cost {
		return &Cost{PodWrites: writes, StatusWrites: writes - 300, StatusChanges: 300, Heap: 2e6, Rows: []requests.Row{{Key: key, Count: requests.Count{Requests: 100}}}}
	}
	timing := func(seconds float64) Timing {
		return Timing{Seconds: seconds, P50: seconds / 2, P90: seconds, P99: seconds}
	}
	run := func(way Way, create, remove, cpu float64, cost *Cost) PodsRun {
		return PodsRun{Way: way, Create: timing(create), Delete: timing(remove), CPU: CPU{cpu, 2 * cpu, 3 * cpu}, Cost: cost}
	}
	return PodsResult{Case: PodsCase{N: 100, Providers: 1}, Runs: []PodsRun{
		run(Floor, 1, 1, 0.2, cost(500)), run(Ours, 1, 2, 0.4, cost(505)),
		run(Floor, 1, 1, 0.3, cost(500)), run(Ours, 3, 2, 0.6, cost(500)),
	}}
}

func TestCompare(t *testing.T) {
	rate, cpu := inThreeWays().Compare()[0], inThreeWays().Compare()[6]
	if math.Round(rate.Ours) != 67 || rate.Floor != 100 || math.Round(100*rate.Ratio) != 67 || rate.Spread != 0 || rate.Direct != 0 {
		t.Errorf("pods/s: %+v", rate)
	}
	if cpu.Ours != 5 || cpu.Ratio != 2 || math.Round(100*cpu.Spread) != 50 {
		t.Errorf("CPU of the manager: %+v", cpu)
	}
	for what, test := range map[string]struct {
		c    Compared
		want string
	}{
		"no bound":                 {Compared{Ratio: 2}, ""},
		"not compared":             {Compared{comparison: comparison{bound: 1}}, ""},
		"met":                      {Compared{comparison: comparison{bound: 2}, Ratio: 2}, holds},
		"as the floor varies":      {Compared{comparison: comparison{bound: 2}, Ratio: 2.2, Spread: 0.1}, inconclusive},
		"by more":                  {Compared{comparison: comparison{bound: 2}, Ratio: 2.3, Spread: 0.1}, broken},
		"more is better":           {Compared{comparison: comparison{bound: 0.8, more: true}, Ratio: 0.8}, holds},
		"less, as the floor does":  {Compared{comparison: comparison{bound: 0.8, more: true}, Ratio: 0.73, Spread: 0.1}, inconclusive},
		"less than the floor does": {Compared{comparison: comparison{bound: 0.8, more: true}, Ratio: 0.72, Spread: 0.1}, broken},
	} {
		if got := test.c.Verdict(); got != test.want {
			t.Errorf("%s: got %q, want %q", what, got, test.want)
		}
	}
	result := inThreeWays()
	if errs := result.BrokenRatios(); len(errs) > 0 {
		t.Errorf("a case without bounds breaks %v", errs)
	}
	for i := range result.Runs {
		if result.Runs[i].Way == Ours {
			result.Runs[i].Delete.Seconds = 100
		}
	}
	result.Case = boundedCase
	if err := errors.Join(result.BrokenRatios()...); err == nil || !strings.Contains(err.Error(), "seconds until all are deleted, ratio to the floor: 100.00") {
		t.Errorf("got %v, want an error about the deletion", err)
	}
}

func TestBounds(t *testing.T) {
	holds := inThreeWays()
	if broken := holds.Broken(); len(broken) > 0 {
		t.Errorf("some five writes a pod are broken bounds: %v", broken)
	}
	for what, spoil := range map[string]func(*Cost){
		"505 writes of pods, want at most 500": func(c *Cost) { c.StatusChanges = 200 },
		"511 writes of pods on this rig":       func(c *Cost) { c.PodWrites = 511 },
		"499 writes of pods that were counted": func(c *Cost) { c.PodWrites = 499 },
		"1 reads":                              func(c *Cost) { c.Reads = 1 },
		"anything but pods":                    func(c *Cost) { c.OtherWrites = writesBesidesPods + 1 },
		"4 watches begun, want at most 3":      func(c *Cost) { c.Watches, c.Renewals, c.Slow = 4, 2, 1 },
		"2 watches are open of p1: pods, and were 1": func(c *Cost) {
			c.Opened = opened(map[string]int{"p1: pods": 1, "p1: nodes": 1}, map[string]int{"p1: pods": 2, "p1: nodes": 1})
		},
	} {
		result := inThreeWays()
		spoil(result.Runs[1].Cost)
		if broken := result.Broken(); len(broken) != 1 || !strings.Contains(broken[0].Error(), what) {
			t.Errorf("%s: got %v, want one error about it", what, broken)
		}
	}
	counted := Counted{NoOps: 1, Differences: []string{"a", "b"}}
	if broken := counted.Broken(); len(broken) != 3 {
		t.Errorf("got %v, want three errors", broken)
	}
}

func TestPodsMarkdown(t *testing.T) {
	result := inThreeWays()
	result.Runs = append(result.Runs, PodsRun{Way: Direct, Create: Timing{Seconds: 0.5, P50: 0.4, P99: 0.9}})
	report := PodsReport{Results: []PodsResult{result}, Counted: []Counted{{Case: PodsCase{N: 100, Providers: 1}}}, Unsaturated: Reaction{0.001, 0.021, 200}}
	text := report.Markdown()
	for _, want := range []string{
		"| pods/s to Ready |  |  | 66.7 | 100.0 | 0.67 | 0 % |  | 200.0 |\n",
		"| CPU of the manager or the floor, ms a pod |  |  | 5.00 | 2.50 | 2.00 | 50 % |  | – |\n",
		"| writes of pods, for each |  |  | 5.03 | 5.00 | 1.00 | 0 % |  | – |\n",
		"| 100 | plain | 1 | direct | 5.050 | 3.000 |",
		"| p1 | create pods | 100 | 1.000 |",
		"p50 1.0 ms (goal: ≤ 2 ms, met), p99 21.0 ms (goal: ≤ 20 ms, not met)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestWatches(t *testing.T) {
	open := map[string]int{"p1: pods": 1, "consumer: pods": 2}
	if more := opened(open, map[string]int{"consumer: pods": 2}); len(more) > 0 {
		t.Errorf("fewer watches: %v", more)
	}
	if more := opened(open, map[string]int{"consumer: pods": 3, "p1: secrets": 1}); len(more) != 2 {
		t.Errorf("got %v, want two", more)
	}
	for during, want := range map[time.Duration]int{time.Minute: 3, 5 * time.Minute: 6, 9 * time.Minute: 6} {
		if got := mostRenewals(open, during); got != want {
			t.Errorf("%s: got %d renewals, want %d", during, got, want)
		}
	}
}
