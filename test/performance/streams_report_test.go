package performance

import (
	"strings"
	"testing"
)

func TestStreamsReport(t *testing.T) {
	report := StreamsReport{
		Rates: []StreamRate{
			{What: "fast", Straight: []float64{90, 110}, Relayed: []float64{80, 80}, CPUSeconds: 1.25},
			{What: "slow", Straight: []float64{100}, Relayed: []float64{79}},
		},
		Memory:   []StreamMemory{{Of: "logs -f", Streams: 128, Heap: 128 * 100 << 10, RSS: 128 * 150 << 10}},
		Forwards: 1000, LeftOpen: 2,
	}
	text := report.Markdown()
	for _, want := range []string{
		"| fast | ≥ 0.8 | 100 | 80 | 0.80 | met | 1.2 |",
		"| slow | ≥ 0.8 | 100 | 79 | 0.79 | not met | 0.0 |",
		"| logs -f | 128 | 100 | 150 |",
		"after 1000 forwards (bound: none): 2.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
