//go:build bench

package performance

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/spillway-io/spillway/test/performance/docs"
)

// progress is where the benchmark prints its progress.
var progress io.Writer = os.Stdout

// warmUp is the number of pods in a first run that does not count. It opens connections.
const warmUp = 50

// rounds is how often each way is run in a case, in turn with the others.
const rounds = 3

// TestPods measures roll-outs of pods and their deletion: by Spillway, by the floor, and directly in the
// providers. PODS=100,500 and CASES=plain/1/direct choose other cases than the default. WAYS=spillway leaves
// the comparisons out. SHORT=1 runs only the case with bounds, by Spillway and the floor.
func TestPods(t *testing.T) {
	logTo(t, "pods.log")
	cases, err1 := podsCases(os.Getenv("PODS"), os.Getenv("CASES"))
	ways, err2 := podWays(os.Getenv("WAYS"))
	must(t, err1, err2)
	if testing.Short() {
		cases, ways = []PodsCase{boundedCase}, []Way{Floor, Ours}
	}
	report := PodsReport{Date: today(), Command: podsCommand()}
	for len(cases) > 0 {
		same := 0 // The cases that run on the same clusters.
		for same < len(cases) && cases[same].Providers == cases[0].Providers {
			same++
		}
		t.Run(fmt.Sprintf("%d providers", cases[0].Providers), func(t *testing.T) { measurePods(t, cases[:same], ways, &report) })
		cases = cases[same:]
	}
	publishPart(t, "pods", report, report.Markdown())
}

func podsCommand() string {
	command := "make bench"
	if testing.Short() {
		return command + " SHORT=1"
	}
	for _, variable := range []string{"WAYS", "CASES", "PODS"} {
		if value := os.Getenv(variable); value != "" {
			command = variable + "=" + value + " " + command
		}
	}
	return command
}

// measurePods measures the cases of one number of providers. It writes the report so far after each.
func measurePods(t *testing.T, cases []PodsCase, ways []Way, report *PodsReport) {
	b := startPods(t, providers[:cases[0].Providers])
	report.Machine = docs.ThisMachine(b.version(t))
	for _, way := range ways {
		b.roll(t, PodsCase{N: warmUp, Providers: cases[0].Providers, Shared: true}, way)
	}
	largest := cases[0].N
	for _, c := range cases {
		result := PodsResult{Case: c}
		for range rounds {
			for _, way := range ways {
				result.Runs = append(result.Runs, b.roll(t, c, way))
			}
		}
		report.Results = append(report.Results, result)
		must(t, writeJSON(filepath.Join(outputDir(t), "pods.json"), report))
		largest = max(largest, c.N)
		for _, broken := range append(result.Broken(), result.BrokenRatios()...) {
			t.Error(broken)
		}
	}
	if testing.Short() {
		return
	}
	var again []PodsCase
	for _, shared := range []bool{false, true} {
		again = append(again, PodsCase{N: largest, Shared: shared, Providers: cases[0].Providers})
	}
	before := len(report.Counted)
	b.count(t, again, report)
	for _, counted := range report.Counted[before:] {
		for _, broken := range counted.Broken() {
			t.Error(broken)
		}
	}
}
