package run

import "github.com/spillway-io/spillway/test/faults/recipe"

// oneOf is how few of the recipes of a part Fast runs: every n-th.
var oneOf = map[Part]int{Crash: 20, Errors: 60, Cuts: 80, Watches: 160, Pairs: 40}

// thinned are the recipes that are run.
func (e *Engine) thinned(part Part, all []recipe.Recipe) []recipe.Recipe {
	if !e.options.Fast {
		return all
	}
	var some []recipe.Recipe
	for i := 0; i < len(all); i += oneOf[part] {
		some = append(some, all[i])
	}
	return some
}
