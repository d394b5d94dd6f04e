package run

import (
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/faults/recipe"
)

// Isolation is what one provider got while another one was cut off.
type Isolation struct {
	// Runs is in how many runs it had work meanwhile, all of which was done.
	Runs int
	// Slowest is the longest that this took, from the cut on, in seconds, and
	// Undisturbed the longest that the same takes in the runs without faults. They
	// are told, and decide nothing.
	Slowest, Undisturbed float64
}

// note takes in a run in which a provider was cut off.
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

// until is how long it took from one write to the last of others.
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

// add takes in what was noted elsewhere.
func (i *Isolation) add(other Isolation) {
	i.Runs += other.Runs
	i.Slowest = max(i.Slowest, other.Slowest)
	i.Undisturbed = max(i.Undisturbed, other.Undisturbed)
}
