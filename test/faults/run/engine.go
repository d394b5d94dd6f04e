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

// alone plays a run with nothing else going on.
func (e *Engine) alone(ctx context.Context, r Run) (*Outcome, error) {
	o, failures, err := e.lanes[0].persist(ctx, r, e.options.Log)
	e.report.Again += failures
	return o, err
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
			jobs = append(jobs, e.first(part, s, tries))
		}
	}
	if len(jobs) == 0 {
		return fmt.Errorf("there is no scenario %q", e.options.Scenario)
	}
	return e.work(ctx, jobs)
}

// first is the run that others are compared with. What has gone wrong in it is a
// divergence, and no measure: another one takes its place.
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

// second has to end like the first, and to leave nothing to be done.
func (e *Engine) second(part Part, s scenario.Scenario, want *Outcome) job {
	second := job{Run: Run{Part: part, Scenario: s, Want: want, Restarts: true, Hold: e.hold(s)}}
	second.then = func(o *Outcome) []job {
		e.note(second, o)
		return nil
	}
	return second
}

// afterwards is for how long the second run of each scenario is looked at after
// its end: longer than anything is believed that a cache does not show, than the
// pace of any write, and than the first tries of what was refused.
const afterwards = 35 * time.Second

// hold is that, but in Fast of the core scenarios a part only.
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

// late are the faults after which a belief may be wrong, and be given up only
// after a while: every lateOneOf-th of those runs is looked at for longer.
var late = []recipe.Kind{recipe.TimeoutAfterCommit, recipe.AlreadyExists, recipe.NotFound, recipe.Conflict}

const lateOneOf = 7

// jobs are all runs with faults that were asked for.
func (e *Engine) jobs() []job {
	if len(e.options.Recipe) > 0 {
		var jobs []job
		for range max(1, e.options.Repeat) {
			for _, s := range slices.Concat(e.chosen(Reference), e.chosen(OutOfBand), e.chosen(Identity)) {
				j := e.fault(PartOf(e.options.Recipe), s, e.options.Recipe)
				if slices.Contains(late, e.options.Recipe[0].Kind) {
					j.Hold = afterwards // It may be there that it diverged.
				}
				jobs = append(jobs, j)
			}
		}
		return jobs
	}
	var jobs []job
	for _, part := range []Part{Pairs, Cuts, Watches, Crash, Errors} { // What takes longest to understand comes first.
		if !e.wants(part) {
			continue
		}
		for _, s := range e.chosen(part) {
			if part == Pairs && !s.Core {
				continue
			}
			for i, r := range e.thinned(part, s.Name, recipesOf(part, e.references[s.Name])) {
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

// repeatTimes is how often at most: what shows now and then may not show at once.
const repeatTimes = 3

// repeat plays what has diverged again, with nothing else going on: first with
// each of its faults alone, if there are several, then as it was. What diverges
// first is the smallest recipe.
func (e *Engine) repeat(ctx context.Context) error {
	for _, j := range e.diverged[:min(repeats, len(e.diverged))] {
		r, err := e.anew(ctx, j.Run)
		if err != nil {
			return err
		}
		smallest, again, err := e.smallest(ctx, r)
		if err != nil {
			return err
		}
		e.report.repeated(j.Run, smallest, again)
	}
	return nil
}

// anew is the run, compared with what its scenario comes to when it is played
// alone: of two runs without faults that differ, either may be the odd one.
func (e *Engine) anew(ctx context.Context, r Run) (Run, error) {
	if len(r.Recipe) == 0 {
		o, err := e.alone(ctx, Run{Part: r.Part, Scenario: r.Scenario})
		if err != nil {
			return r, err
		}
		if len(o.Problems) == 0 {
			e.references[r.Scenario.Name] = o
		}
	}
	r.Want = e.references[r.Scenario.Name]
	return r, nil
}

// smallest is the command of the smallest run that diverges too, and whether one
// has, or none has come to its faults, which says nothing.
func (e *Engine) smallest(ctx context.Context, r Run) (string, bool, error) {
	var tries []Run
	if len(r.Recipe) > 1 {
		for _, fault := range r.Recipe {
			alone := r
			alone.Recipe = recipe.Recipe{fault}
			tries = append(tries, alone)
		}
	}
	for range repeatTimes {
		tries = append(tries, r)
	}
	reached := false
	for _, try := range tries {
		o, err := e.alone(ctx, try)
		if err != nil {
			return "", false, err
		}
		e.report.Isolation.note(try, o)
		fmt.Fprintf(e.options.Log, "alone: %d problems: %s\n", len(o.Problems), Command(try))
		if len(o.Problems) > 0 {
			return Command(try), true, nil
		}
		reached = reached || len(try.Recipe) == len(r.Recipe) && o.Reached(try.Recipe)
	}
	return Command(r), !reached, nil
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
