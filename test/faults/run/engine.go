package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
	"github.com/spillway-io/spillway/test/faults/world"
)

// Options say what is to be run.
type Options struct {
	// Parts are those to be run. Default: all.
	Parts []Part
	// Scenario, if set, is the only one.
	Scenario string
	// Recipe, if set, is the only one, in place of all parts.
	Recipe recipe.Recipe
	// Repeat is how often the Recipe is played, for what happens now and then.
	// Default: once.
	Repeat int
	// Fast runs only as much as fits into some minutes.
	Fast bool
	// Log receives the progress and each divergence.
	Log io.Writer
	// LogDir is where what the managers logged goes, a file for each divergence.
	LogDir string
}

// Engine runs what the Options ask for.
type Engine struct {
	options Options
	lanes   []*Lane
	report  *Report
	// references are by scenario.
	references map[string]*Outcome
	scenarios  []scenario.Scenario
	diverged   []job
}

// New opens a ledger for each lane of the site, which ends with ctx.
func New(ctx context.Context, site *world.Site, o Options) (*Engine, error) {
	e := &Engine{options: o, report: newReport(), references: map[string]*Outcome{}, scenarios: scenario.All()}
	for _, lane := range site.Lanes {
		ledger, err := oracle.Watch(ctx, oracle.Lane{ConsumerID: lane.ConsumerID, Clusters: lane.Clusters()})
		if err != nil {
			return nil, err
		}
		e.lanes = append(e.lanes, &Lane{Lane: lane, Ledger: ledger})
	}
	if len(e.options.Parts) == 0 {
		e.options.Parts = Parts()
	}
	return e, nil
}

// Run runs everything. An error means that the harness has failed.
func (e *Engine) Run(ctx context.Context) (*Report, error) {
	if err := e.learn(ctx); err != nil {
		return e.report, err
	}
	if err := e.work(ctx, e.jobs()); err != nil {
		return e.report, err
	}
	if err := e.repeat(ctx); err != nil {
		return e.report, err
	}
	if e.wants(Seeded) {
		return e.report, e.seeded(ctx)
	}
	return e.report, nil
}

func (e *Engine) wants(part Part) bool {
	return len(e.options.Recipe) == 0 && slices.Contains(e.options.Parts, part)
}

func (e *Engine) work(ctx context.Context, jobs []job) error {
	q := &queue{lanes: e.lanes, log: e.options.Log}
	err := q.work(ctx, jobs)
	e.report.Again += q.again
	return err
}

// chosen are the scenarios of a part.
func (e *Engine) chosen(part Part) []scenario.Scenario {
	var all []scenario.Scenario
	switch part {
	case OutOfBand:
		all = scenario.OutOfBand()
	case Identity:
		all = scenario.Identity()
	default:
		all = e.scenarios
	}
	return slices.DeleteFunc(slices.Clone(all), func(s scenario.Scenario) bool {
		return e.options.Scenario != "" && s.Name != e.options.Scenario
	})
}

// learn plays each scenario twice without any fault. Both have to end alike.
func (e *Engine) learn(ctx context.Context) error {
	var jobs []job
	for _, part := range []Part{Reference, OutOfBand, Identity} {
		needed := e.wants(part) || e.wants(Seeded) || len(e.options.Recipe) > 0
		if part != Reference && !needed {
			continue
		}
		for _, s := range e.chosen(part) {
			jobs = append(jobs, e.reference(part, s))
		}
	}
	if len(jobs) == 0 {
		return fmt.Errorf("there is no scenario %q", e.options.Scenario)
	}
	return e.work(ctx, jobs)
}

func (e *Engine) reference(part Part, s scenario.Scenario) job {
	first := job{Run: Run{Part: part, Scenario: s}}
	first.then = func(o *Outcome) []job {
		e.note(first, o)
		e.references[s.Name] = o
		e.report.points(part, s.Name, len(o.Points))
		if e.options.Fast && part != Reference {
			return nil
		}
		second := job{Run: Run{Part: part, Scenario: s, Want: o, Restarts: true}}
		second.then = func(again *Outcome) []job {
			e.note(second, again)
			return nil
		}
		return []job{second}
	}
	return first
}

// jobs are all runs with faults that were asked for.
func (e *Engine) jobs() []job {
	if len(e.options.Recipe) > 0 {
		var jobs []job
		for range max(1, e.options.Repeat) {
			for _, s := range slices.Concat(e.chosen(Reference), e.chosen(OutOfBand), e.chosen(Identity)) {
				jobs = append(jobs, e.fault(Crash, s, e.options.Recipe))
			}
		}
		return jobs
	}
	var jobs []job
	for _, part := range []Part{Crash, Errors, Cuts, Watches, Pairs} {
		if !e.wants(part) {
			continue
		}
		for _, s := range e.chosen(part) {
			if part == Pairs && !s.Core {
				continue
			}
			for _, r := range e.thinned(part, s.Name, recipesOf(part, e.references[s.Name])) {
				jobs = append(jobs, e.fault(part, s, r))
			}
		}
	}
	return jobs
}

// fault is a run with faults. The first crash of a pair leads to the second.
// After the crash that leaves most behind, one more manager has to find nothing
// to do; a third of those runs' time goes into that.
func (e *Engine) fault(part Part, s scenario.Scenario, r recipe.Recipe) job {
	j := job{Run: Run{Part: part, Scenario: s, Recipe: r, Want: e.references[s.Name], Restarts: part == Crash && r[0].Kind == recipe.CrashAfterCommit}}
	j.then = func(o *Outcome) []job {
		e.note(j, o)
		var more []job
		if part == Pairs {
			for _, pair := range e.thinned(part, s.Name, pairs(r, o)) {
				more = append(more, e.fault(part, s, pair))
			}
		}
		return more
	}
	return j
}

// note keeps what came of a run. It is called by one lane at a time.
func (e *Engine) note(j job, o *Outcome) {
	e.report.note(j.Run, o)
	if len(o.Problems) > 0 {
		e.diverged = append(e.diverged, j)
		fmt.Fprint(e.options.Log, describe(j.Run, o))
		fmt.Fprintf(e.options.Log, "  what the managers logged: %s\n", e.keep(o))
	} else if len(e.options.Recipe) > 0 {
		fmt.Fprintf(e.options.Log, "%s: the last requests:\n%s", Command(j.Run), indent(o.Log))
	}
}

// keep writes what the managers of the last divergence logged, and all that there
// was in the end, and returns where.
func (e *Engine) keep(o *Outcome) string {
	path := filepath.Join(e.options.LogDir, fmt.Sprintf("divergence-%d.log", len(e.diverged)))
	text := o.Logged + "\nin the end there was:\n"
	for _, name := range slices.Sorted(maps.Keys(o.State)) {
		text += "--- " + name + "\n" + o.State[name]
	}
	if err := errors.Join(os.MkdirAll(e.options.LogDir, 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		return err.Error()
	}
	return path
}

// repeats is how many divergences are repeated, each alone.
const repeats = 20

// repeat plays what has diverged once more, with nothing else going on.
func (e *Engine) repeat(ctx context.Context) error {
	for _, j := range e.diverged[:min(repeats, len(e.diverged))] {
		o, err := e.lanes[0].Play(ctx, j.Run)
		if err != nil {
			return err
		}
		e.report.repeated(j.Run, len(o.Problems) > 0 || !o.Reached(j.Recipe)) // Without its fault it says nothing.
		fmt.Fprintf(e.options.Log, "alone: %d problems: %s\n", len(o.Problems), Command(j.Run))
	}
	return nil
}

// Command is what a user types to repeat a run.
func Command(r Run) string {
	command := "make faults SCENARIO=" + r.Scenario.Name
	if len(r.Recipe) > 0 {
		command += fmt.Sprintf(" RECIPE='%s'", r.Recipe)
	}
	return command
}

// describe says all of a divergence.
func describe(r Run, o *Outcome) string {
	return fmt.Sprintf("DIVERGENCE: part %s, scenario %s, recipe %q\n%s  the last requests:\n%s  to repeat it: %s\n",
		r.Part, r.Scenario.Name, r.Recipe, indent(o.Problems), indent(o.Log), Command(r))
}

func indent(lines []string) string {
	return "    " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n    ") + "\n"
}
