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
)

// defaultLanes is what two cores can feed.
const defaultLanes = 4

// TestFaults runs what the variables of make faults ask for.
func TestFaults(t *testing.T) {
	options, lanes := fromEnvironment(t)
	root, err := clusters.Root()
	must(t, err)
	dir := filepath.Join(root, "bin", "faults")
	options.LogDir = filepath.Join(dir, "logs")
	must(t, os.RemoveAll(options.LogDir))
	began := time.Now()
	// Whoever interrupts it leaves no clusters behind.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	site, err := world.Up(ctx, lanes, os.Stderr)
	must(t, err)
	t.Cleanup(func() { must(t, site.Down(context.Background())) })
	engine, err := run.New(ctx, site, options)
	must(t, err)
	report, err := engine.Run(ctx)
	report.Command, report.Date, report.Machine = command(), time.Now().Format(time.DateOnly), machine()
	report.Lanes, report.Seconds = lanes, time.Since(began).Seconds()
	must(t, report.Write(filepath.Join(dir, "report.json")))
	must(t, err)
	finish(t, report, filepath.Join(root, "docs", "reliability.md"), options.Fast)
	if len(options.Recipe) > 0 && report.NeverReached(run.Crash) {
		t.Errorf("the request of the recipe never came, in no scenario: nothing was tested")
	}
}

// finish prints the report, and fails the test if anything diverged. Of the fast
// part, which is for machines that are busy with other things too, only what
// diverged once more when it was repeated alone is a failure.
func finish(t *testing.T, report *run.Report, docs string, fast bool) {
	fmt.Printf("\n%s\n%s\n", report.Markdown(), report.Summary())
	if os.Getenv("UPDATE_DOCS") != "" {
		must(t, report.UpdateDocs(docs))
	}
	for _, divergence := range report.Divergences {
		text := fmt.Sprintf("%s\n    %s", divergence.Command, strings.Join(divergence.Problems, "\n    "))
		if fast && divergence.Repeated && !divergence.Again {
			fmt.Printf("WARNING: it diverged once, and not when it was repeated: %s\n", text)
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
	}
	return o, lanes
}

// command is how this run was started.
func command() string {
	text := "make faults"
	for _, name := range []string{"FAST", "LANES", "PART", "SCENARIO", "RECIPE", "REPEAT"} {
		if value := os.Getenv(name); value != "" {
			text += fmt.Sprintf(" %s='%s'", name, value)
		}
	}
	return text
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
