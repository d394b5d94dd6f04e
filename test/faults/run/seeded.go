package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
	"github.com/spillway-io/spillway/test/faults/seeded"
)

// errNoBugs is what one gets who asks for seeded bugs that are not there.
var errNoBugs = errors.New("the seeded bugs take a binary that was built with their overlay: use make faults")

// patienceWithBug is short: what does not come of a bug never comes. It is longer
// than what waits for its next try at first, which is ten seconds.
const patienceWithBug = 15 * time.Second

// seeded switches on each bug, and plays what should catch it, on all lanes,
// until a run does. The bug is one of the whole process.
func (e *Engine) seeded(ctx context.Context) error {
	if !canSwitch {
		return errNoBugs
	}
	for _, bug := range e.bugs() {
		if e.report.tried(bug.Bug) || !e.options.Shard.has(keyOf(Seeded, "", string(bug.Bug))) {
			continue // Before this process, or in another shard.
		}
		if e.options.Scenario != "" && len(e.directed(bug)) == 0 {
			continue // The one scenario that was asked for is not meant to catch it.
		}
		caught := Caught{Bug: string(bug.Bug), Breaks: bug.Breaks}
		if err := e.catch(ctx, bug, &caught); err != nil {
			return err
		}
		e.record(record{Caught: &caught})
		fmt.Fprintf(e.options.Log, "seeded bug %s: %d runs, caught by %q\n", caught.Bug, caught.Runs, caught.By)
	}
	return nil
}

// catch plays what should catch a bug, as many runs at a time as there are
// lanes, until some of them have.
func (e *Engine) catch(ctx context.Context, bug seeded.Description, caught *Caught) error {
	for some := range slices.Chunk(e.directed(bug), len(e.lanes)) {
		suspects, err := e.suspects(ctx, bug, some, caught)
		if err != nil {
			return err
		}
		slices.SortStableFunc(suspects, func(a, b suspect) int { return len(a.Recipe) - len(b.Recipe) })
		for _, s := range suspects {
			if len(caught.By) > 0 {
				break // One is enough, and the run without the bug takes as long again.
			}
			proven, err := e.proven(ctx, bug, s.Run)
			if err != nil {
				return err
			}
			if proven {
				caught.By = append(caught.By, fmt.Sprintf("%s: %s", s.how(), Command(s.Run)))
				caught.Problems = append(caught.Problems, s.problem)
			}
		}
		if len(caught.By) > 0 {
			return nil
		}
	}
	return nil
}

// proven reports whether it is the bug that a run shows: alone, it diverges with it,
// and does not without it; nor with the bug and no fault, if it takes one.
func (e *Engine) proven(ctx context.Context, bug seeded.Description, r Run) (bool, error) {
	ask := []func(context.Context, seeded.Bug, Run) (bool, error){e.onceMore, e.withoutBug}
	if bug.NeedsFault {
		ask = append(ask, e.unfaulted)
	}
	for _, question := range ask {
		yes := false
		for range asked {
			var err error
			if yes, err = question(ctx, bug.Bug, r); err != nil {
				return false, err
			}
			if yes {
				break
			}
		}
		if !yes {
			return false, nil
		}
	}
	return true, nil
}

// asked is how often it is, since some bugs have only one run that can show them.
const asked = 2

// suspect is a run with a bug that was not as it should be.
type suspect struct {
	Run
	problem string
}

// how is the part whose fault, or stranger, it took.
func (s suspect) how() Part {
	if len(s.Recipe) == 0 && (s.Part == OutOfBand || s.Part == Identity) {
		return s.Part
	}
	return PartOf(s.Recipe)
}

func (e *Engine) suspects(ctx context.Context, bug seeded.Description, runs []Run, caught *Caught) ([]suspect, error) {
	switchBug(bug.Bug)
	defer switchBug("")
	var found []suspect
	var jobs []job
	for _, r := range runs {
		r.Patience = patienceWithBug
		jobs = append(jobs, job{Run: r, then: func(o *Outcome) []job {
			caught.Runs++
			if len(o.Problems) > 0 && o.Reached(r.Recipe) {
				found = append(found, suspect{r, o.Problems[0]})
			}
			return nil
		}})
	}
	err := e.work(ctx, jobs)
	return found, err
}

// onceMore reports whether the run is not as it should be when it is played alone,
// with the bug: on a busy machine it might have been for want of time.
func (e *Engine) onceMore(ctx context.Context, bug seeded.Bug, r Run) (bool, error) {
	switchBug(bug)
	defer switchBug("")
	o, err := e.alone(ctx, r)
	if err != nil {
		return false, err
	}
	return len(o.Problems) > 0 && o.Reached(r.Recipe), nil
}

// unfaulted reports whether a bug does not show in a scenario without any fault.
func (e *Engine) unfaulted(ctx context.Context, bug seeded.Bug, r Run) (bool, error) {
	r.Recipe = nil
	guilty, err := e.onceMore(ctx, bug, r)
	return !guilty, err
}

// withoutBug reports whether the same run is as it should be without the bug, and
// comes to its fault.
func (e *Engine) withoutBug(ctx context.Context, _ seeded.Bug, r Run) (bool, error) {
	o, err := e.alone(ctx, r)
	if err != nil {
		return false, err
	}
	return len(o.Problems) == 0 && o.Reached(r.Recipe), nil
}

// directed are the runs that should catch a bug: those without a fault first, if
// these may be what catches it, then those with one, a few of each scenario in turn.
func (e *Engine) directed(bug seeded.Description) []Run {
	var all, faulted []Run
	for _, name := range bug.Parts {
		part := Part(name)
		for _, s := range e.chosen(part) {
			want, known := e.references[s.Name]
			if !known || (len(bug.Scenarios) > 0 && !slices.Contains(bug.Scenarios, s.Name)) {
				continue
			}
			if !bug.NeedsFault {
				all = append(all, Run{Part: part, Scenario: s, Want: want, Restarts: true})
			}
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
