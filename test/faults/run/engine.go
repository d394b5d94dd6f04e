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
	"time"

	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
	"github.com/spillway-io/spillway/test/faults/world"
)

// Options say what to run.
type Options struct {
	// Parts are the parts to run. Default: all.
	Parts []Part
	// Scenarios replace all those in which nobody touches Spillway's own objects.
	Scenarios []scenario.Scenario
	// Crashes are the kinds of crashes to play. Default: all.
	Crashes []recipe.Kind
	// Scenario, if set, is the only one to run.
	Scenario string
	// Recipe, if set, is played instead of all parts.
	Recipe recipe.Recipe
	// Repeat is how often the Recipe is played, for failures that happen now and then. Default: once.
	Repeat int
	// Fast runs only what fits into some minutes.
	Fast bool
	// Log receives the progress and each divergence.
	Log io.Writer
	// LogDir receives the managers' logs, one file for each divergence.
	LogDir string
}

// Engine runs what the Options ask for.
type Engine struct {
	options Options
	lanes   []*Lane
	report  *Report
	// references has the reference runs by scenario.
	references map[string]*Outcome
	scenarios  []scenario.Scenario
}

// New opens a ledger for each lane of the site. The ledgers end with ctx.
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
	if len(e.options.Scenarios) > 0 {
		e.scenarios = e.options.Scenarios
	}
	return e, nil
}

// Run runs everything. An error means that the harness has failed.
func (e *Engine) Run(ctx context.Context) (*Report, error) {
	began := time.Now()
	defer func() { e.report.Seconds = time.Since(began).Seconds() }()
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
		if err := e.seeded(ctx); err != nil {
			return e.report, err
		}
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

// chosen returns the scenarios of a part.
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

// alone plays a run while nothing else runs.
func (e *Engine) alone(ctx context.Context, r Run) (*Outcome, error) {
	o, failures, err := e.lanes[0].persist(ctx, r, e.options.Log)
	e.report.Again += failures
	return o, err
}

// learn plays each scenario twice without faults. Both runs must end in the same state.
func (e *Engine) learn(ctx context.Context) error {
	var jobs []job
	for _, part := range []Part{Reference, OutOfBand, Identity} {
		needed := e.wants(part) || e.wants(Seeded) || len(e.options.Recipe) > 0
		if part != Reference && !needed {
			continue
		}
		for _, s := range e.chosen(part) {
			jobs = append(jobs, e.first(part, s, tries))
		}
	}
	if len(jobs) == 0 {
		return fmt.Errorf("there is no scenario %q", e.options.Scenario)
	}
	return e.work(ctx, jobs)
}

// first is the run that others are compared with. If it has problems, that is a divergence, and another run
// replaces it.
func (e *Engine) first(part Part, s scenario.Scenario, left int) job {
	first := job{Run: Run{Part: part, Scenario: s}}
	first.then = func(o *Outcome) []job {
		e.note(first, o)
		if len(o.Problems) > 0 && left > 1 {
			return []job{e.first(part, s, left-1)}
		}
		e.references[s.Name] = o
		e.report.points(part, s.Name, o.Points)
		return []job{e.second(part, s, o)}
	}
	return first
}

// second must end like the first, and leave nothing to do.
func (e *Engine) second(part Part, s scenario.Scenario, want *Outcome) job {
	second := job{Run: Run{Part: part, Scenario: s, Want: want, Restarts: true, Hold: e.hold(s)}}
	second.then = func(o *Outcome) []job {
		e.note(second, o)
		return nil
	}
	return second
}

// afterwards is how long the second run of each scenario is watched after its end. It is longer than three
// times: how long the manager trusts its own writes over a cache, the interval of any write, and the first
// retries after a refusal.
const afterwards = 35 * time.Second

// hold returns afterwards. With Fast it returns a third of it for core scenarios, and zero for others.
func (e *Engine) hold(s scenario.Scenario) time.Duration {
	switch {
	case !e.options.Fast:
		return afterwards
	case s.Core:
		return afterwards / 3
	default:
		return 0
	}
}

// late are the faults after which the manager may hold a wrong belief, and drop it only after a while. Every
// lateOneOf-th of these runs is watched for longer.
var late = []recipe.Kind{recipe.TimeoutAfterCommit, recipe.AlreadyExists, recipe.NotFound, recipe.Conflict}

const lateOneOf = 7

// jobs returns all requested runs with faults.
func (e *Engine) jobs() []job {
	if len(e.options.Recipe) > 0 {
		var jobs []job
		for range max(1, e.options.Repeat) {
			for _, s := range slices.Concat(e.chosen(Reference), e.chosen(OutOfBand), e.chosen(Identity)) {
				j := e.fault(PartOf(e.options.Recipe), s, e.options.Recipe)
				if slices.Contains(late, e.options.Recipe[0].Kind) {
					j.Hold = afterwards // The divergence may show only there.
				}
				jobs = append(jobs, j)
			}
		}
		return jobs
	}
	var jobs []job
	for _, part := range []Part{Pairs, Cuts, Watches, Crash, Errors} { // Divergences that take longest to understand come first.
		if !e.wants(part) {
			continue
		}
		for _, s := range e.chosen(part) {
			if part == Pairs && !s.Core {
				continue
			}
			for i, r := range e.thinned(part, s.Name, recipesOf(part, e.references[s.Name], e.options.Crashes)) {
				j := e.fault(part, s, r)
				if i%lateOneOf == 0 && slices.Contains(late, r[0].Kind) && !e.options.Fast {
					j.Hold = afterwards
				}
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// fault returns a run with faults. The first crash of a pair leads to the second. After CrashAfterCommit,
// which leaves most behind, another manager must find nothing to do; a third of the time of those runs goes
// into that.
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

// note records the result of a run. One lane at a time calls it.
func (e *Engine) note(j job, o *Outcome) {
	e.report.played(j.Run, o)
	if len(o.Problems) > 0 {
		fmt.Fprint(e.options.Log, describe(j.Run, o))
		fmt.Fprintf(e.options.Log, "  what the managers logged: %s\n", e.keep(o))
	} else if len(e.options.Recipe) > 0 {
		fmt.Fprintf(e.options.Log, "%s: the last requests:\n%s", Command(j.Run), indent(o.Log))
	}
}

// keep writes a file with the managers' logs of the last divergence and the end state. It returns its path.
func (e *Engine) keep(o *Outcome) string {
	path := filepath.Join(e.options.LogDir, fmt.Sprintf("divergence-%d.log", len(e.report.Divergences)))
	text := o.Logged + "\nin the end there was:\n"
	for _, name := range slices.Sorted(maps.Keys(o.State)) {
		text += "--- " + name + "\n" + o.State[name]
	}
	if err := errors.Join(os.MkdirAll(e.options.LogDir, 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		return err.Error()
	}
	return path
}

// Command returns the command that repeats a run.
func Command(r Run) string {
	command := "make faults SCENARIO=" + r.Scenario.Name
	if len(r.Recipe) > 0 {
		command += fmt.Sprintf(" RECIPE='%s'", r.Recipe)
	}
	return command
}

// describe returns all details of a divergence.
func describe(r Run, o *Outcome) string {
	return fmt.Sprintf("DIVERGENCE: part %s, scenario %s, recipe %q\n%s  the last requests:\n%s  to repeat it: %s\n",
		r.Part, r.Scenario.Name, r.Recipe, indent(o.Problems), indent(o.Log), Command(r))
}

func indent(lines []string) string {
	return "    " + strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n    ") + "\n"
}
