//go:build bench

package performance

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/docs"
)

// progress is where the benchmark says what it does.
var progress io.Writer = os.Stdout

// warmUp is a run that does not count: connections are opened in it.
const warmUp = 50

// TestPods measures roll-outs of pods, and their deletion: by Spillway, by the
// floor, which is the least that it takes, and in the providers themselves.
// PODS=100,500 and CASES=plain/1/direct choose others than the default, and
// WAYS=spillway leaves the comparisons out.
func TestPods(t *testing.T) {
	logTo(t, "pods.log")
	cases, err := podsCases(os.Getenv("PODS"), os.Getenv("CASES"))
	must(t, err)
	ways, err := podWays(os.Getenv("WAYS"))
	must(t, err)
	if os.Getenv("UPDATE_DOCS") == "1" {
		must(t, drawable(cases, ways)) // Else the end would find out, hours later.
	}
	report := PodsReport{Date: time.Now().UTC().Format(time.DateOnly), Command: podsCommand()}
	for len(cases) > 0 {
		same := 0 // The cases that run on the same clusters.
		for same < len(cases) && cases[same].Providers == cases[0].Providers {
			same++
		}
		t.Run(fmt.Sprintf("%d providers", cases[0].Providers), func(t *testing.T) { measurePods(t, cases[:same], ways, &report) })
		cases = cases[same:]
	}
	publishPods(t, report)
}

func podsCommand() string {
	command := "make bench"
	for _, variable := range []string{"WAYS", "CASES", "PODS"} {
		if value := os.Getenv(variable); value != "" {
			command = variable + "=" + value + " " + command
		}
	}
	return command
}

// measurePods measures the cases of one number of providers, in those ways, or in
// those of each case. What there is of the report is kept after each.
func measurePods(t *testing.T, cases []PodsCase, ways []Way, report *PodsReport) {
	b := startPods(t, providers[:cases[0].Providers])
	report.Machine = docs.ThisMachine(b.version(t))
	for _, way := range []Way{Floor, Ours, Direct} {
		b.roll(t, PodsCase{N: warmUp, Providers: cases[0].Providers, Shared: true}, way)
	}
	largest := cases[0].N
	for _, c := range cases {
		result := PodsResult{Case: c}
		for _, way := range order(c, ways) {
			result.Runs = append(result.Runs, b.roll(t, c, way))
		}
		report.Results = append(report.Results, result)
		must(t, writeJSON(podsFile(t), report))
		largest = max(largest, c.N)
		for _, broken := range result.Broken() {
			t.Error(broken)
		}
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

// order is that of the ways in a case. Ours is between two of the floor, so that
// what else the machine does disturbs both. Many pods take so long that it does
// so anyway, and once is enough; how soon a provider runs them by itself does not
// depend on what else they use. Ways that were asked for are taken as they are.
func order(c PodsCase, asked []Way) []Way {
	if asked != nil {
		return asked
	}
	switch {
	case c.N > mostOfAll && c.Shared:
		return []Way{Floor, Ours}
	case c.N > mostOfAll:
		return []Way{Floor, Ours, Direct}
	}
	return []Way{Floor, Ours, Direct, Ours, Floor}
}

// publishPods prints the report, and writes it where it is kept.
func publishPods(t *testing.T, r PodsReport) {
	_, _ = fmt.Fprintf(progress, "\n%s\n", r.Markdown())
	must(t, writeJSON(podsFile(t), r))
	renewDocs(t, "pods", r.Markdown())
	if os.Getenv("UPDATE_DOCS") == "1" && !t.Failed() {
		must(t, draw(t.Context(), podsFile(t)))
	}
}

// podsFile is where the figures go.
func podsFile(t *testing.T) string { return filepath.Join(outputDir(t), "pods.json") }

// draw draws the figures. What does it is a module of its own, because the
// library that it draws with is not to be one of the product's.
func draw(ctx context.Context, figures string) error {
	root, err := clusters.Root()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "run", ".", figures, filepath.Join(root, "docs", "benchmarks"))
	command.Dir = filepath.Join(root, "test", "performance", "plot")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("drawing the figures: %w\n%s", err, out)
	}
	return nil
}
