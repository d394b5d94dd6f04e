package run

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/requests"
)

// eventsFrom is at how many of the first events of a watch it expires or begins to drop events.
const eventsFrom = 3

// recipesOf enumerates the recipes of a part, without the second crash of a pair, which depends on the first. The part
// Crash has crashes of all kinds if none are given.
func recipesOf(part Part, reference *Outcome, crashes []recipe.Kind) []recipe.Recipe {
	switch part {
	case Crash:
		if len(crashes) == 0 {
			crashes = recipe.Crashes()
		}
		return at(reference.Points, crashes)
	case Errors:
		return at(reference.Points, recipe.Errors())
	case Cuts:
		return at(reference.Points, recipe.Cuts())
	case Pairs:
		return at(reference.Points, firstOfPair())
	case Watches:
		return watches(reference.Events)
	default:
		return nil
	}
}

// firstOfPair returns the kinds of the first crash of a pair. CrashAfterResponse is left out: it differs from
// CrashAfterCommit only in what the manager does before its next request.
func firstOfPair() []recipe.Kind {
	return []recipe.Kind{recipe.CrashBeforeSend, recipe.CrashAfterCommit}
}

// secondOfPair is the kind of the second crash.
const secondOfPair = recipe.CrashAfterCommit

func at(points []recipe.Point, kinds []recipe.Kind) []recipe.Recipe {
	var all []recipe.Recipe
	for _, point := range points {
		for _, kind := range kinds {
			all = append(all, recipe.Recipe{{At: point, Kind: kind}})
		}
	}
	return all
}

// pairs returns the recipes with a second crash at each write after the first one.
func pairs(first recipe.Recipe, outcome *Outcome) []recipe.Recipe {
	if len(first) != 1 || !slices.Contains(firstOfPair(), first[0].Kind) || !outcome.Reached(first) {
		return nil
	}
	var all []recipe.Recipe
	for _, point := range outcome.Points[outcome.Fired[0].Points:] {
		all = append(all, recipe.Recipe{first[0], {At: point, Kind: secondOfPair}})
	}
	return all
}

func watches(events map[inject.Stream]int) []recipe.Recipe {
	streams := slices.SortedFunc(maps.Keys(events), func(a, b inject.Stream) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Resource, b.Resource))
	})
	var all []recipe.Recipe
	for _, stream := range streams {
		for _, kind := range recipe.Watches() {
			from := 1 // A fault that lasts until the run ends begins only once.
			if kind == recipe.WatchDrop || kind == recipe.WatchGone {
				from = min(eventsFrom, events[stream])
			}
			for n := 1; n <= from; n++ {
				point := recipe.Point{Cluster: stream.Cluster, Verb: requests.Watch, Resource: stream.Resource, Occurrence: n}
				all = append(all, recipe.Recipe{{At: point, Kind: kind}})
			}
		}
	}
	return all
}
