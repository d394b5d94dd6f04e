package performance

import (
	"strings"
	"testing"
)

func TestBindingsReport(t *testing.T) {
	of := func(n int) BindingsState {
		return BindingsState{
			Bindings: n, StackBytes: int64(n) * 1e5, Goroutines: map[string]int{"ours": n * 90, "theirs": 7},
			IdleState: IdleState{
				Seconds: 100, CPUSeconds: 3, RSSBytes: 150 << 20, HeapBytes: 5e6 + int64(n)*9e5,
				Watches: map[string]int{"consumer: pods": 10 + n, "p1: pods": n * 12},
			},
		}
	}
	report := BindingsReport{One: of(1), Many: of(101), StartSeconds: 10.1, ReadySeconds: 34, StartCPU: 8}
	if got, want := strings.Join(report.Broken(), "; "), "an idle binding takes 13.0 (open watches), want at most 12"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	text := report.Markdown()
	for _, want := range []string{
		"| a binding: heap and stacks, MB | ≤ 1 | 1.00 | met |", "| a binding: goroutines | ≤ 100 | 90.0 | met |",
		"| a binding: open watches | ≤ 12 | 13.0 | not met |", "| all: engaged after a start, s | ≤ 10 | 10.1 | not met |",
		"| all: RSS, MiB | ≤ 150 | 150 | met |", "| all: CPU, % of a core | ≤ 2 | 3.0 | not met |",
		"Of 101 bindings, 100 were Ready 34.0 s after", "took 8.0 CPU seconds", "| `ours` | 90.00 |\n| `theirs` | 0.00 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}
