package run

import (
	"slices"

	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/seeded"
)

// oneOf is n: of each part, Fast runs every n-th recipe. No n has a common divisor with the number of kinds
// of its part, so all kinds are run.
var oneOf = map[Part]int{Crash: 31, Errors: 91, Cuts: 81, Watches: 121, Pairs: 41}

// fastBugs are the seeded bugs that Fast has to catch: one for each part, and two that only the oracles can
// catch.
var fastBugs = []seeded.Bug{
	seeded.DeleteWithoutUID, seeded.RestartWritesAgain,
	seeded.RestartForgetsGoing, seeded.RetryLost, seeded.LostForGood, seeded.WatchTakenAtItsWord,
	seeded.LostWithoutAsking, seeded.IdentityUnchecked,
}

// thinned returns the recipes of a part to run with a scenario.
func (e *Engine) thinned(part Part, scenario string, all []recipe.Recipe) []recipe.Recipe {
	if !e.options.Fast {
		return all
	}
	some := everyNth(all, oneOf[part], slices.Index(e.names(), scenario))
	if part == Cuts && scenario == independent {
		some = append(some, e.isolating(all)...)
	}
	return some
}

// isolating returns the first recipe that cuts off one provider while the other one has work.
func (e *Engine) isolating(all []recipe.Recipe) []recipe.Recipe {
	for _, s := range e.scenarios {
		for _, r := range all {
			if s.Name == independent && len(meanwhile(Run{Scenario: s, Recipe: r, Want: e.references[s.Name]})) > 0 {
				return []recipe.Recipe{r}
			}
		}
	}
	return nil
}

// names returns the names of the scenarios, in their order.
func (e *Engine) names() []string {
	var names []string
	for _, s := range e.scenarios {
		names = append(names, s.Name)
	}
	return names
}

// bugs returns the seeded bugs to catch.
func (e *Engine) bugs() []seeded.Description {
	if !e.options.Fast {
		return seeded.All()
	}
	return slices.DeleteFunc(seeded.All(), func(d seeded.Description) bool { return !slices.Contains(fastBugs, d.Bug) })
}

// everyNth starts at another index for each turn, so that short lists do not all contribute their first item.
func everyNth[T any](all []T, n, turn int) []T {
	var some []T
	for i := turn % max(1, min(n, len(all))); i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}
