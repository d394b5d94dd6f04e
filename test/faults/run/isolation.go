package run

import (
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

// Isolation describes what the manager did in one provider while another one was cut off.
type Isolation struct {
	// Runs is in how many runs it had work there. It finished all of that work during the cut.
	Runs int
	// Slowest is the longest time that this took, from the cut on, in seconds. Undisturbed is the longest
	// time that the same work takes without faults. Both are only reported.
	Slowest, Undisturbed float64
}

// note adds a run in which a provider was cut off.
func (i *Isolation) note(r Run, o *Outcome) {
	if len(o.Problems) > 0 || !o.Reached(r.Recipe) {
		return
	}
	others := missing(meanwhile(r), o.Points[:cutAt(o.Fired)])
	if len(others) == 0 {
		return
	}
	i.Runs++
	i.Slowest = max(i.Slowest, o.until(r.Recipe[0].At, others).Seconds())
	i.Undisturbed = max(i.Undisturbed, r.Want.until(r.Recipe[0].At, others).Seconds())
}

// until returns the time from one write to the last of others.
func (o *Outcome) until(from recipe.Point, others []recipe.Point) time.Duration {
	begin := slices.Index(o.Points, from)
	if begin < 0 {
		return 0
	}
	var longest time.Duration
	for i, point := range o.Points {
		if slices.Contains(others, point) {
			longest = max(longest, o.Times[i].Sub(o.Times[begin]))
		}
	}
	return longest
}
