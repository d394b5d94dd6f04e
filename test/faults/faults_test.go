//go:build faults

package faults

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/run"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/pages"
)

// defaultLanes is as much as two cores can handle.
const defaultLanes = 7

// TestFaults plays the runs that the variables of make faults request.
func TestFaults(t *testing.T) {
	options, lanes := fromEnvironment(t)
	root, err := clusters.Root()
	must(t, err)
	dir := filepath.Join(root, "bin", "faults")
	options.LogDir = filepath.Join(dir, "logs")
	must(t, os.RemoveAll(options.LogDir))
	report := play(t, options, lanes)
	report.Command, report.Date, report.Machine, report.Lanes = command(), time.Now().Format(time.DateOnly), pages.Machine(), lanes
	must(t, report.Write(filepath.Join(dir, reportName(options))))
	finish(t, report, options.Fast)
	complete(t, report, options)
	if os.Getenv("UPDATE_DOCS") == "" {
		return
	}
	if t.Failed() || partial(options) {
		t.Fatal("docs/reliability.md is not renewed: only by a whole run, or a whole FAST one, without a failure")
	}
	must(t, pages.Update(filepath.Join(root, "docs", "reliability.md"), "faults", "make faults", report.Markdown()))
}

// play starts the clusters, and plays the runs.
func play(t *testing.T, options run.Options, lanes int) *run.Report {
	// An interrupt must leave no clusters behind.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	site, err := world.Up(ctx, lanes, os.Stderr)
	must(t, err)
	t.Cleanup(func() { must(t, site.Down(context.Background())) })
	engine, err := run.New(ctx, site, options)
	must(t, err)
	report, err := engine.Run(ctx)
	must(t, err)
	return report
}

// partial reports whether only some of the parts or scenarios were requested.
func partial(o run.Options) bool {
	return o.Scenario != "" || len(o.Recipe) > 0 || len(o.Parts) > 0
}

// reportName separates the reports of full, fast and partial runs.
func reportName(o run.Options) string {
	switch {
	case partial(o):
		return "report-part.json"
	case o.Fast:
		return "report-fast.json"
	default:
		return "report.json"
	}
}

// complete fails the test if something that was requested was not tested: its zeroes would say nothing.
func complete(t *testing.T, report *run.Report, o run.Options) {
	switch {
	case len(o.Recipe) > 0:
		if untested := report.Untested([]run.Part{run.PartOf(o.Recipe)}); len(untested) > 0 {
			t.Error("the request of the recipe never came, in no scenario: nothing was tested")
		}
		return
	case len(o.Parts) > 0:
		for _, part := range report.Untested(o.Parts) {
			t.Errorf("of the part %s nothing was tested", part)
		}
		return
	case o.Scenario != "":
		if len(report.Untested(run.Parts())) == len(run.Parts()) {
			t.Errorf("with the scenario %s nothing was tested", o.Scenario)
		}
		return
	}
	for _, part := range report.Untested(run.Parts()) {
		t.Errorf("of the part %s nothing was tested", part)
	}
	for name, points := range report.Points {
		if points == 0 {
			t.Errorf("the scenario %s has no writes at which anything could go wrong", name)
		}
	}
	if report.Isolation.Runs == 0 {
		t.Error("no provider had work while another one was cut off")
	}
}

// finish prints the report, and fails the test if a run diverged. The fast runs are meant for busy machines
// too. There, a divergence fails the test only if it happened again when it was repeated alone.
func finish(t *testing.T, report *run.Report, fast bool) {
	fmt.Printf("\n%s\n%s\n", report.Markdown(), report.Summary())
	for _, divergence := range report.Divergences {
		text := fmt.Sprintf("%s\n    %s", divergence.Command, strings.Join(divergence.Problems, "\n    "))
		if divergence.Smallest != "" && divergence.Smallest != divergence.Command {
			text += "\n    the smallest recipe that diverges: " + divergence.Smallest
		}
		if fast && divergence.Repeated && !divergence.Again {
			fmt.Printf("WARNING: it diverged once, and not when it was repeated some times: %s\n", text)
			continue
		}
		t.Error(text)
	}
	for _, bug := range report.Missed() {
		t.Errorf("nothing has caught the seeded bug %s", bug)
	}
}

// fromEnvironment reads the variables of make faults.
func fromEnvironment(t *testing.T) (run.Options, int) {
	o := run.Options{Scenario: os.Getenv("SCENARIO"), Fast: os.Getenv("FAST") != "", Log: os.Stderr}
	var err error
	o.Recipe, err = recipe.Parse(os.Getenv("RECIPE"))
	must(t, err)
	for name := range strings.FieldsFuncSeq(os.Getenv("PART"), func(r rune) bool { return r == ',' || r == ' ' }) {
		part, err := run.ParsePart(name)
		must(t, err)
		o.Parts = append(o.Parts, part)
	}
	if text := os.Getenv("REPEAT"); text != "" {
		o.Repeat, err = strconv.Atoi(text)
		must(t, err)
	}
	lanes := defaultLanes
	if text := os.Getenv("LANES"); text != "" {
		lanes, err = strconv.Atoi(text)
		must(t, err)
		if lanes < 1 {
			t.Fatalf("LANES is %d: at least one run at a time is needed", lanes)
		}
	}
	return o, lanes
}

// command is the command that started this run.
func command() string {
	words := []string{"make", "faults"}
	for _, name := range []string{"FAST", "LANES", "PART", "SCENARIO", "RECIPE", "REPEAT"} {
		if value := os.Getenv(name); value != "" {
			words = append(words, fmt.Sprintf("%s='%s'", name, value))
		}
	}
	return strings.Join(words, " ")
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
