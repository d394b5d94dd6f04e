package run

import (
	"context"
	"fmt"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

// repeats is how many divergences are repeated, each alone.
const repeats = 20

// repeatTimes is how often each is repeated at most: a rare failure may not show at once.
const repeatTimes = 3

// repeat repeats each divergence while nothing else runs: first with each of its faults alone if there are
// several, then unchanged. The first recipe that diverges is the smallest.
func (e *Engine) repeat(ctx context.Context) error {
	for i := range min(repeats, len(e.report.Divergences)) {
		d := &e.report.Divergences[i]
		r, err := e.anew(ctx, d.run)
		if err != nil {
			return err
		}
		if d.Smallest, d.Again, err = e.smallest(ctx, r); err != nil {
			return err
		}
		d.Repeated = true
	}
	return nil
}

// anew returns the run with a reference that was played alone: if two runs without faults differ, either may
// be wrong.
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

// smallest returns the command of the smallest run that diverges again. Again is also true if no run reached
// all its faults, which proves nothing.
func (e *Engine) smallest(ctx context.Context, r Run) (command string, again bool, err error) {
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
