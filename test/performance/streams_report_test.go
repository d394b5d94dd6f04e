package performance

import (
	"strings"
	"testing"
)

func TestStreamsReport(t *testing.T) {
	report := StreamsReport{
		Rates: []StreamRate{
			{What: "fast", Straight: []float64{110, 500, 90, 1}, Relayed: []float64{80, 300, 1}, CPU: StreamCPU{6, 3, 3}, RelayedCPU: StreamCPU{6, 3, 3, 1.25, 2.75}},
			{What: "slow", Straight: []float64{100}, Relayed: []float64{79}, CPU: StreamCPU{1}, RelayedCPU: StreamCPU{1}},
		},
		Memory:   []StreamMemory{{Of: "logs -f", Streams: 128, Heap: 128 * 100 << 10, RSS: 128 * 150 << 10}},
		Forwards: 1000, LeftOpen: 2,
	}
	text := report.Markdown()
	for _, want := range []string{
		"| fast | ≥ 0.8 | 100 | 80 | 0.80 | met | 0.75 |",
		"| slow | ≥ 0.8 | 100 | 79 | 0.79 | not met | 1.00 |",
		"| fast | straight | 6.0 | 3.0 | 3.0 | 0.0 | 0.0 | 12.0 |",
		"|  | through Spillway | 6.0 | 3.0 | 3.0 | 1.2 | 2.8 | 16.0 |",
		"| logs -f | 128 | 100 | 150 |",
		"after 1000 forwards (bound: none): 2.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
