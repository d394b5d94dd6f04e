package performance

import (
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

// inThreeWays is a result with two runs of ours, and one of the floor.
func inThreeWays() PodsResult {
	key := requests.Key{Cluster: "p1", Verb: requests.Create, Resource: "pods", Class: requests.Work}
	cost := func(writes int, cpu float64) *Cost {
		return &Cost{PodWrites: writes, StatusChanges: 300, CPUSeconds: cpu, Heap: 2e6, Rows: []requests.Row{{Key: key, Count: requests.Count{Requests: 100}}}}
	}
	return PodsResult{Case: PodsCase{N: 100, Providers: 1}, Runs: []PodsRun{
		{Way: Floor, Create: Timing{Seconds: 1}, Delete: Timing{Seconds: 1}},
		{Way: Ours, Create: Timing{Seconds: 1, P50: 0.5}, Delete: Timing{Seconds: 2}, Cost: cost(505, 0.5)},
		{Way: Ours, Create: Timing{Seconds: 3, P50: 1.5}, Delete: Timing{Seconds: 2}, Cost: cost(500, 0.7)},
	}}
}

func TestRates(t *testing.T) {
	result := inThreeWays()
	for what, pair := range map[string][2]float64{
		"our rate, over both runs":   {result.Rate(Ours, creating), 50},
		"ratio of the creation":      {result.Ratio(Floor, creating), 0.5},
		"ratio of the deletion":      {result.Ratio(Floor, deleting), 0.5},
		"ratio to what was not done": {result.Ratio(Direct, creating), 0},
		"mean of the medians":        {result.Mean(Ours, func(r PodsRun) float64 { return r.Create.P50 }), 1},
		"most writes":                {float64(result.Most().PodWrites), 505},
		"mean CPU seconds":           {result.Most().CPUSeconds, 0.6},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: got %v, want %v", what, pair[0], pair[1])
		}
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
	for _, run := range []int{1, 2} {
		result.Runs[run].Create.P99 = 1.8
		result.Runs[run].Delete = Timing{Seconds: 2, P50: 0.7, P90: 0.8, P99: 1.1}
	}
	result.Runs = append(result.Runs, PodsRun{Way: Direct, Create: Timing{P50: 0.4, P99: 0.9}})
	report := PodsReport{Results: []PodsResult{result}, Counted: []Counted{{Case: PodsCase{N: 100, Providers: 1}}}, Unsaturated: Reaction{0.001, 0.021, 200}}
	text := report.Markdown()
	for _, want := range []string{
		"| 100 | plain | 1 | direct | 50.0 | 100.0 | – | 0.50 | – |\n", // Both phases: twice as long as the floor's.
		"| 100 | plain | 1 | direct | 1.00 | – | 1.80 | – | – | 0.40 | 0.90 | – | 2.00 |\n",
		"| 100 | plain | 1 | direct | 0.70 | 0.80 | 1.10 | – | – | – | – | – | – |\n",
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
