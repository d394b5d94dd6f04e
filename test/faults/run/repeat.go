package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

// repeats is how many divergences are repeated, each alone.
const repeats = 20

// repeatTimes is how often each is repeated at most: a rare failure may not show at once.
const repeatTimes = 3

// repeat repeats each divergence while nothing else runs: first with each of its faults alone if there are
// several, then unchanged. The first recipe that diverges is the smallest.
func (e *Engine) repeat(ctx context.Context) error {
	for _, d := range slices.Clone(e.report.Divergences[:min(repeats, len(e.report.Divergences))]) {
		if d.Repeated {
			continue // An interrupted process has repeated it.
		}
		r, err := d.of.run(slices.Concat(e.chosen(Reference), e.chosen(OutOfBand), e.chosen(Identity)))
		if err != nil {
			return err
		}
		if r, err = e.anew(ctx, r); err != nil {
			return err
		}
		what := &repeated{Part: d.Part, Command: d.Command}
		if err := e.smallest(ctx, r, what); err != nil {
			return err
		}
		e.record(record{Repeated: what})
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

// smallest finds the command of the smallest run that diverges again. Again is also true if no run reached
// all its faults, which proves nothing.
func (e *Engine) smallest(ctx context.Context, r Run, what *repeated) error {
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
			return err
		}
		what.Isolation.note(try, o)
		fmt.Fprintf(e.options.Log, "alone: %d problems: %s\n", len(o.Problems), Command(try))
		if len(o.Problems) > 0 {
			what.Smallest, what.Again = Command(try), true
			return nil
		}
		reached = reached || len(try.Recipe) == len(r.Recipe) && o.Reached(try.Recipe)
	}
	what.Smallest, what.Again = Command(r), !reached
	return nil
}
