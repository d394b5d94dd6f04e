package run

import (
	"github.com/spillway-io/spillway/internal/seeded"
	"github.com/spillway-io/spillway/test/faults/recipe"
)

// oneOf is how few of the recipes of a part Fast runs: every n-th.
var oneOf = map[Part]int{Crash: 30, Errors: 90, Cuts: 80, Watches: 120, Pairs: 40, Seeded: 4}

// thinned are the recipes that are run.
func (e *Engine) thinned(part Part, all []recipe.Recipe) []recipe.Recipe {
	if !e.options.Fast {
		return all
	}
	return everyNth(all, oneOf[part])
}

// bugs are the seeded ones that are to be caught.
func (e *Engine) bugs() []seeded.Description {
	if !e.options.Fast {
		return seeded.All()
	}
	return everyNth(seeded.All(), oneOf[Seeded])
}

func everyNth[T any](all []T, n int) []T {
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}
