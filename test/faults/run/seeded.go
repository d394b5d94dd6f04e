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

// errNoBugs is the error of requesting seeded bugs from a binary that lacks them.
var errNoBugs = errors.New("the seeded bugs take a binary that was built with their overlay: use make faults")

// patienceWithBug is short, because what a bug prevents never comes. It is longer than the ten seconds after
// which the manager retries the first time.
const patienceWithBug = 15 * time.Second

// seeded switches on one bug after the other, and plays the runs that should catch it until one does. It uses
// all lanes, because a bug is switched on in the whole process.
func (e *Engine) seeded(ctx context.Context) error {
	if !canSwitch {
		return errNoBugs
	}
	for _, bug := range e.bugs() {
		if e.options.Scenario != "" && len(e.directed(bug)) == 0 {
			continue // The only requested scenario should not catch it.
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

// catch plays the runs that should catch a bug, one on each lane at a time, until one has caught it.
func (e *Engine) catch(ctx context.Context, bug seeded.Description, caught *Caught) error {
	for some := range slices.Chunk(e.directed(bug), len(e.lanes)) {
		suspects, err := e.suspects(ctx, bug, some, caught)
		if err != nil {
			return err
		}
		slices.SortStableFunc(suspects, func(a, b suspect) int { return len(a.Recipe) - len(b.Recipe) })
		for _, s := range suspects {
			if len(caught.By) > 0 {
				break // One is enough, and proving each takes more runs.
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

// proven reports whether the bug causes the problem. Played alone, the run must have it with the bug and not
// without. If the bug needs a fault, the run must not have it with the bug alone.
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

// asked is how often each question is asked, since only one run can show some bugs.
const asked = 2

// suspect is a run with a bug that had problems.
type suspect struct {
	Run
	problem string
}

// how returns the part that caught the bug: the run's own if strangers did it without a fault, else the
// part of the fault.
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

// onceMore reports whether the run has problems with the bug when it is played alone. Before, a busy machine
// may have caused them.
func (e *Engine) onceMore(ctx context.Context, bug seeded.Bug, r Run) (bool, error) {
	switchBug(bug)
	defer switchBug("")
	o, err := e.alone(ctx, r)
	if err != nil {
		return false, err
	}
	return len(o.Problems) > 0 && o.Reached(r.Recipe), nil
}

// unfaulted reports whether a scenario has no problems with the bug but without a fault.
func (e *Engine) unfaulted(ctx context.Context, bug seeded.Bug, r Run) (bool, error) {
	r.Recipe = nil
	guilty, err := e.onceMore(ctx, bug, r)
	return !guilty, err
}

// withoutBug reports whether the same run reaches its fault and has no problems without the bug.
func (e *Engine) withoutBug(ctx context.Context, _ seeded.Bug, r Run) (bool, error) {
	o, err := e.alone(ctx, r)
	if err != nil {
		return false, err
	}
	return len(o.Problems) == 0 && o.Reached(r.Recipe), nil
}

// directed returns the runs that should catch a bug. Those without a fault come first, if the bug needs none.
// Then come those with a fault, a few of each scenario in turn.
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
	for _, r := range recipesOf(part, want, nil) {
		runs = append(runs, Run{Part: part, Scenario: s, Recipe: r, Want: want, Restarts: part == Crash})
	}
	return runs
}

// inTurn orders runs so that one of each kind and scenario comes before the second of any. Most bugs show
// with any fault in some scenario.
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
