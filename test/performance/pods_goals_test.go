package performance

import (
	"strings"
	"testing"
)

func TestGoals(t *testing.T) {
	of := func(n int, floor, create, p99, remove float64, heap int64) PodsResult {
		return PodsResult{Case: PodsCase{N: n, Providers: 1}, Runs: []PodsRun{
			{Way: Floor, Create: Timing{Seconds: floor}},
			{Way: Ours, Create: Timing{Seconds: create, P99: p99}, Delete: Timing{Seconds: remove}, Cost: &Cost{Heap: heap}},
		}}
	}
	good, bad := of(500, 5, 5, 4.5, 6.25, 12.5e6), of(500, 5, 8, 4.6, 6.3, 13e6)
	other := good
	other.Case.Shared = true
	for what, test := range map[string]struct {
		results []PodsResult
		want    []string
	}{
		"all met": {[]PodsResult{good}, []string{
			"the case 500/plain/1/direct; none", "| ≥ 0.85 | 1.00 | met |", "| ≥ 72 | 100.0 | met |", "| ≤ 4.5 | 4.50 | met |", "| ≤ 6.25 | 6.25 | met |", "| ≤ 25 | 25.0 | met |",
		}},
		"none met": {[]PodsResult{bad}, []string{
			"| 0.62 | not met |", "| 62.5 | not met |", "| 4.60 | not met |", "| 6.30 | not met |", "| 26.0 | not met |",
		}},
		"the nearest":       {[]PodsResult{of(100, 1, 1, 1, 1, 1e6), of(2000, 1, 1, 1, 1, 1e6)}, []string{"100/plain/1/direct. Those in seconds are for 500 pods", "| ≤ 25 | 10.0 | met |"}},
		"without the floor": {[]PodsResult{{Case: good.Case, Runs: good.Runs[1:]}}, []string{"| ≥ 0.85 | – | not measured |", "| ≥ 72 | 100.0 | met |"}},
	} {
		t.Run(what, func(t *testing.T) {
			text := PodsReport{Results: test.results}.Markdown()
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		})
	}
	if text := (PodsReport{Results: []PodsResult{other}}).goals(); text != "" {
		t.Errorf("of another case: %s", text)
	}
}
