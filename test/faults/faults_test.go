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
	"github.com/spillway-io/spillway/test/performance/docs"
)

// defaultLanes is as much as two cores can handle.
const defaultLanes = 7

// TestFaults plays or merges the runs that the variables of make faults request.
func TestFaults(t *testing.T) {
	options, lanes := fromEnvironment(t)
	root, err := clusters.Root()
	must(t, err)
	f := &faults{options: options, lanes: lanes, dir: filepath.Join(root, "bin", "faults"), began: time.Now()}
	f.header = run.Header{Settings: settings(), Shard: options.Shard}
	f.header.Code, err = run.Code(root)
	must(t, err)
	report := f.report(t)
	if report == nil {
		return
	}
	report.Command, report.Date, report.Machine, report.Lanes = command(), time.Now().Format(time.DateOnly), machine(), lanes
	must(t, report.Write(filepath.Join(f.dir, reportName(options))))
	finish(t, report, options.Fast)
	complete(t, report, options)
	if os.Getenv("UPDATE_DOCS") == "" {
		return
	}
	if t.Failed() || partial(options) {
		t.Fatal("docs/reliability.md is not renewed: only by a whole run, or a whole FAST one, without a failure")
	}
	must(t, docs.Update(filepath.Join(root, "docs", "reliability.md"), "faults", "make faults", report.Markdown()))
}

// faults is what was requested.
type faults struct {
	options run.Options
	header  run.Header
	lanes   int
	dir     string
	began   time.Time
}

// report returns the report of all requested runs; nil if other shards have to be played first.
func (f *faults) report(t *testing.T) *run.Report {
	if os.Getenv("MERGE") == "" {
		report := f.play(t)
		if f.options.Shard.N <= 1 {
			return report
		}
		must(t, report.Write(filepath.Join(f.dir, fmt.Sprintf("report-%d-of-%d.json", f.options.Shard.K, f.options.Shard.N))))
		report.Command, report.Date, report.Machine, report.Lanes = command(), time.Now().Format(time.DateOnly), machine(), f.lanes
		finish(t, report, false)
	}
	merged, err := run.Merge(f.pieces(), f.header.Code, f.header.Settings)
	if err != nil && os.Getenv("MERGE") == "" {
		fmt.Printf("The shards are not added up yet (when the files of all are in %s: make faults MERGE=1):\n%v\n", f.pieces(), err)
		return nil
	}
	must(t, err)
	return merged
}

// pieces is the folder of the journals.
func (f *faults) pieces() string { return filepath.Join(f.dir, "pieces") }

// play starts the clusters, and plays the runs that are not done yet.
func (f *faults) play(t *testing.T) *run.Report {
	resume := os.Getenv("RESUME") != ""
	o := f.options
	o.Began, o.Session = f.began, run.Session{Date: f.began.Format(time.DateOnly), Machine: machine(), Lanes: f.lanes}
	o.LogDir = filepath.Join(f.dir, "logs")
	if o.Shard.N > 1 {
		o.LogDir = filepath.Join(o.LogDir, fmt.Sprintf("%d-of-%d", o.Shard.K, o.Shard.N))
	}
	if len(o.Recipe) == 0 { // One run is nothing to go on with.
		var err error
		o.Journal, err = run.Open(f.pieces(), f.header, resume, os.Stderr)
		must(t, err)
		defer func() { must(t, o.Journal.Close()) }()
		if o.Journal.Ended() {
			return o.Journal.Report()
		}
	}
	if !resume {
		must(t, os.RemoveAll(o.LogDir))
	}
	// An interrupt must leave no clusters behind.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	site, err := world.Up(ctx, f.lanes, os.Stderr)
	must(t, err)
	t.Cleanup(func() { must(t, site.Down(context.Background())) })
	engine, err := run.New(ctx, site, o)
	must(t, err)
	report, err := engine.Run(ctx)
	must(t, err)
	return report
}

func machine() string { return docs.ThisMachine("").String() }

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
	shard, err := run.ParseShard(os.Getenv("SHARD"))
	must(t, err)
	o := run.Options{Shard: shard, Scenario: os.Getenv("SCENARIO"), Fast: os.Getenv("FAST") != "", Log: os.Stderr}
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
	if shard.N > 1 && (o.Fast || len(o.Recipe) > 0) {
		t.Fatal("SHARD divides whole parts: FAST=1 and RECIPE are small enough")
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

// settings are the requested settings, without those that only divide or speed up the work.
func settings() string { return asked("FAST", "PART", "SCENARIO", "RECIPE", "REPEAT") }

// command is the command that started this run.
func command() string {
	return strings.TrimSpace("make faults " + asked("FAST", "LANES", "PART", "SCENARIO", "RECIPE", "REPEAT", "SHARD", "MERGE"))
}

func asked(names ...string) string {
	var all []string
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			all = append(all, fmt.Sprintf("%s='%s'", name, value))
		}
	}
	return strings.Join(all, " ")
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
