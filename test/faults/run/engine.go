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
	// Shard is the part of all runs that is to be played. Default: all.
	Shard Shard
	// Journal, if set, receives what is done, and has what was done before.
	Journal *Journal
	// Session is what this process is, and Began when it did.
	Session Session
	Began   time.Time
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
	// before is what was done by processes that were broken off.
	before *progress
}

// New opens a ledger for each lane of the site, which ends with ctx.
func New(ctx context.Context, site *world.Site, o Options) (*Engine, error) {
	e := &Engine{options: o, report: newReport(), before: newProgress(), scenarios: scenario.All()}
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
	e.resume()
	return e, nil
}

// resume takes in what was done before, and begins a session.
func (e *Engine) resume() {
	if e.options.Journal != nil {
		e.report = e.options.Journal.Report()
		for _, r := range e.options.Journal.records {
			e.before.apply(r)
		}
	}
	e.references = e.before.outcomes()
	if done := len(e.before.played); done > 0 {
		fmt.Fprintf(e.options.Log, "resumed: %d reference runs, %d others and %d seeded bugs were done before, and are not played again\n",
			len(e.references), done, len(e.report.Bugs))
	}
	session := e.options.Session
	session.Shard = e.options.Shard.String()
	e.record(record{Session: &session})
}

// record notes what was done, and writes it down.
func (e *Engine) record(r record) {
	r.At = time.Since(e.options.Began).Seconds()
	e.report.apply(r)
	e.options.Journal.write(r)
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
		if err := e.seeded(ctx); err != nil {
			return e.report, err
		}
	}
	e.record(record{Ended: true})
	return e.report, nil
}

func (e *Engine) wants(part Part) bool {
	return len(e.options.Recipe) == 0 && slices.Contains(e.options.Parts, part)
}

func (e *Engine) work(ctx context.Context, jobs []job) error {
	q := &queue{lanes: e.lanes, log: e.options.Log, again: func(n int) { e.record(record{Again: n}) }}
	return q.work(ctx, jobs)
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
	if failures > 0 {
		e.record(record{Again: failures})
	}
	return o, err
}

// learn plays each scenario twice without any fault. Both have to end alike.
func (e *Engine) learn(ctx context.Context) error {
	var jobs []job
	known := false
	for _, part := range []Part{Reference, OutOfBand, Identity} {
		needed := e.wants(part) || e.wants(Seeded) || len(e.options.Recipe) > 0
		if part != Reference && !needed {
			continue
		}
		for _, s := range e.chosen(part) {
			known = true
			if want, learnt := e.references[s.Name]; learnt {
				jobs = append(jobs, e.second(part, s, want)...)
				continue
			}
			jobs = append(jobs, e.first(part, s, tries))
		}
	}
	if !known {
		return fmt.Errorf("there is no scenario %q", e.options.Scenario)
	}
	return e.work(ctx, jobs)
}

// first is the run that others are compared with. What has gone wrong in it is a
// divergence, and no measure: another one takes its place.
func (e *Engine) first(part Part, s scenario.Scenario, left int) job {
	first := job{Run: Run{Part: part, Scenario: s}}
	first.then = func(o *Outcome) []job {
		e.note(first, o, nil)
		if len(o.Problems) > 0 && left > 1 {
			return []job{e.first(part, s, left-1)}
		}
		e.references[s.Name] = o
		e.record(record{Reference: referenceOf(part, s.Name, o)})
		return e.second(part, s, o)
	}
	return first
}

// second has to end like the first, and to leave nothing to be done. The first is
// in every shard, for the sake of those that are compared with it; this one in one.
func (e *Engine) second(part Part, s scenario.Scenario, want *Outcome) []job {
	key := keyOf(part, s.Name, "")
	if e.before.played[key] != nil || !e.options.Shard.has(key) {
		return nil
	}
	second := job{Run: Run{Part: part, Scenario: s, Want: want, Restarts: true, Hold: e.hold(s)}}
	second.then = func(o *Outcome) []job {
		e.note(second, o, nil)
		return nil
	}
	return []job{second}
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
				hold := time.Duration(0)
				if i%lateOneOf == 0 && slices.Contains(late, r[0].Kind) && !e.options.Fast {
					hold = afterwards
				}
				jobs = append(jobs, e.left(part, s, r, hold)...)
			}
		}
	}
	return jobs
}

// left is a run of this shard, if it was not played before, or those of the runs
// that it has led to then. A pair is in the shard of its first crash.
func (e *Engine) left(part Part, s scenario.Scenario, r recipe.Recipe, hold time.Duration) []job {
	key := keyOf(part, s.Name, r.String())
	before := e.before.played[key]
	if before == nil {
		if len(r) == 1 && !e.options.Shard.has(key) {
			return nil
		}
		j := e.fault(part, s, r)
		j.Hold = hold
		return []job{j}
	}
	var jobs []job
	for _, text := range before.Next {
		next, err := recipe.Parse(text)
		if err != nil {
			panic(fmt.Sprintf("the journal has a recipe that it cannot have: %v", err))
		}
		jobs = append(jobs, e.left(part, s, next, 0)...)
	}
	return jobs
}

// fault is a run with faults. The first crash of a pair leads to the second.
// After the crash that leaves most behind, one more manager has to find nothing
// to do; a third of those runs' time goes into that.
func (e *Engine) fault(part Part, s scenario.Scenario, r recipe.Recipe) job {
	j := job{Run: Run{Part: part, Scenario: s, Recipe: r, Want: e.references[s.Name], Restarts: part == Crash && r[0].Kind == recipe.CrashAfterCommit}}
	j.then = func(o *Outcome) []job {
		var next []recipe.Recipe
		if part == Pairs {
			next = e.thinned(part, s.Name, pairs(r, o))
		}
		e.note(j, o, next)
		var more []job
		for _, pair := range next {
			more = append(more, e.fault(part, s, pair))
		}
		return more
	}
	return j
}

// note keeps what came of a run, and what it has led to. It is called by one lane
// at a time.
func (e *Engine) note(j job, o *Outcome, next []recipe.Recipe) {
	e.record(record{Run: playedOf(j.Run, o, next)})
	if len(o.Problems) > 0 {
		fmt.Fprint(e.options.Log, describe(j.Run, o))
		fmt.Fprintf(e.options.Log, "  what the managers logged: %s\n", e.keep(o))
	} else if len(e.options.Recipe) > 0 {
		fmt.Fprintf(e.options.Log, "%s: the last requests:\n%s", Command(j.Run), indent(o.Log))
	}
}

// keep writes what the managers of the last divergence logged, and all that there
// was in the end, and returns where.
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

// Command is what a user types to repeat a run.
func Command(r Run) string {
	return commandOf(r.Scenario.Name, r.Recipe.String())
}

func commandOf(scenario, of string) string {
	command := "make faults SCENARIO=" + scenario
	if of != "" {
		command += fmt.Sprintf(" RECIPE='%s'", of)
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
