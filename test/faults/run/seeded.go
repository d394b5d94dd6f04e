package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spillway-io/spillway/internal/seeded"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
)

// errNoBugs is what one gets who asks for seeded bugs that are not there.
var errNoBugs = errors.New("the seeded bugs take a binary that was built with the tag seeded")

// patienceWithBug is short: what does not come of a bug never comes.
const patienceWithBug = 10 * time.Second

// seeded switches on each bug, and plays what should catch it, on all lanes,
// until a run does. The bug is one of the whole process.
func (e *Engine) seeded(ctx context.Context) error {
	if !canSwitch {
		return errNoBugs
	}
	for _, bug := range seeded.All() {
		if e.options.Scenario != "" && len(e.directed(bug)) == 0 {
			continue // The one scenario that was asked for is not meant to catch it.
		}
		caught := Caught{Bug: string(bug.Bug), Breaks: bug.Breaks}
		if err := e.catch(ctx, bug, &caught); err != nil {
			return err
		}
		e.report.Bugs = append(e.report.Bugs, caught)
		fmt.Fprintf(e.options.Log, "seeded bug %s: %d runs, caught by %q\n", caught.Bug, caught.Runs, caught.By)
	}
	return nil
}

func (e *Engine) catch(ctx context.Context, bug seeded.Description, caught *Caught) error {
	switchBug(bug.Bug)
	defer switchBug("")
	var enough atomic.Bool
	var jobs []job
	for _, r := range e.directed(bug) {
		r.Patience = patienceWithBug
		jobs = append(jobs, job{Run: r, then: func(o *Outcome) []job {
			caught.Runs++
			if len(o.Problems) > 0 {
				enough.Store(true)
				caught.By = append(caught.By, fmt.Sprintf("%s: %s", r.Part, Command(r)))
				caught.Problems = append(caught.Problems, o.Problems[0])
			}
			return nil
		}})
	}
	q := &queue{lanes: e.lanes, log: e.options.Log, stop: enough.Load}
	return q.work(ctx, jobs)
}

// directed are the runs that should catch a bug: those without a fault first,
// then those with one, a few of each scenario in turn.
func (e *Engine) directed(bug seeded.Description) []Run {
	var all, faulted []Run
	for _, name := range bug.Parts {
		part := Part(name)
		for _, s := range e.chosen(part) {
			want, known := e.references[s.Name]
			if !known || (len(bug.Scenarios) > 0 && !slices.Contains(bug.Scenarios, s.Name)) {
				continue
			}
			all = append(all, Run{Part: part, Scenario: s, Want: want, Restarts: true})
			faulted = append(faulted, e.faulted(part, s, want)...)
		}
	}
	return append(all, inTurn(faulted)...)
}

func (e *Engine) faulted(part Part, s scenario.Scenario, want *Outcome) []Run {
	var runs []Run
	for _, r := range recipesOf(part, want) {
		runs = append(runs, Run{Part: part, Scenario: s, Recipe: r, Want: want, Restarts: part == Crash})
	}
	return runs
}

// inTurn orders runs so that one of each kind and scenario comes before the
// second of any: most bugs show with any fault, in some scenario.
func inTurn(runs []Run) []Run {
	type key struct {
		scenario string
		kind     recipe.Kind
	}
	rank := map[key]int{}
	turns := map[int][]Run{}
	for _, r := range runs {
		k := key{r.Scenario.Name, r.Recipe[0].Kind}
		turns[rank[k]] = append(turns[rank[k]], r)
		rank[k]++
	}
	var all []Run
	for turn := range len(turns) {
		all = append(all, turns[turn]...)
	}
	return all
}
