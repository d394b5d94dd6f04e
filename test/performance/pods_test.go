//go:build bench

package performance

import (
	"fmt"
	"os"
	"testing"
)

// warmUp is the number of pods in a first run that does not count. It opens connections.
const warmUp = 50

// rounds is how often each way is run in a case, in turn with the others.
const rounds = 3

// TestPods measures roll-outs of pods and their deletion: by Spillway, by the floor, and directly in the
// providers. PODS=100,500 and CASES=plain/1/direct choose other cases than the default. WAYS=spillway leaves
// the comparisons out. SHORT=1 runs only the case with bounds, by Spillway and the floor.
func TestPods(t *testing.T) {
	cases, err1 := podsCases(os.Getenv("PODS"), os.Getenv("CASES"))
	ways, err2 := podWays(os.Getenv("WAYS"))
	must(t, err1, err2)
	if testing.Short() {
		cases, ways = []PodsCase{boundedCase}, []Way{Floor, Ours}
	}
	for len(cases) > 0 {
		same := 0 // The cases that run on the same clusters.
		for same < len(cases) && cases[same].Providers == cases[0].Providers {
			same++
		}
		t.Run(fmt.Sprintf("%d providers", cases[0].Providers), func(t *testing.T) { measurePods(t, cases[:same], ways) })
		cases = cases[same:]
	}
}

// measurePods measures the cases of one number of providers.
func measurePods(t *testing.T, cases []PodsCase, ways []Way) {
	b := startPods(t, providers[:cases[0].Providers])
	for _, way := range ways {
		b.roll(t, PodsCase{N: warmUp, Providers: cases[0].Providers, Shared: true}, way)
	}
	largest := cases[0].N
	for _, c := range cases {
		var runs []PodsRun
		for range rounds {
			for _, way := range ways {
				runs = append(runs, b.roll(t, c, way))
			}
		}
		showPods(t, c, runs)
		largest = max(largest, c.N)
	}
	if !testing.Short() {
		b.counted(t, PodsCase{N: largest, Providers: cases[0].Providers}, PodsCase{N: largest, Shared: true, Providers: cases[0].Providers})
	}
}

// showPods prints the figures of a case.
func showPods(t *testing.T, c PodsCase, runs []PodsRun) {
	text, broken := compare(c, runs)
	_, _ = fmt.Fprintln(out, "\n"+text)
	for _, err := range broken {
		t.Error(err)
	}
	var columns []column
	var last PodsRun
	for _, run := range runs {
		if run.Way == Ours {
			columns, last = append(columns, column{fmt.Sprintf("round %d", len(columns)+1), run.Cost.figures(c)}), run
		}
	}
	show(t, c.String()+", by Spillway", columns...)
	_, _ = fmt.Fprintln(out, requestsOf(last.Cost.Requests, c.N))
}
