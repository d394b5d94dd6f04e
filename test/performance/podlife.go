package performance

import (
	"fmt"
	"slices"

	"github.com/spillway-io/spillway/test/performance/docs"
)

// goalPodLife is how many times the floor's CPU the manager may use for a pod's life.
const goalPodLife = 1.3

// PodLifeReport is what pods cost from their creation until they are gone, in CPU seconds of
// the process that brings them to a provider.
type PodLifeReport struct {
	Date, Command string
	Machine       docs.Machine
	Pods          int
	Floor, Ours   []float64 // One of each run.
}

// Markdown is a table. The least counts of each: what else the machine does only adds to it.
func (r PodLifeReport) Markdown() string {
	each := func(runs []float64) float64 { return 1000 * slices.Min(runs) / float64(r.Pods) }
	ratio := each(r.Ours) / each(r.Floor)
	return fmt.Sprintf("`%s`, %s, on %s; %d pods, the least of %d runs each.\n\n%s", r.Command, r.Date, r.Machine, r.Pods, len(r.Ours), table(
		[]string{"what", "goal"}, []string{"here", "verdict"}, [][]string{
			{"floor: CPU ms a pod", "", fmt.Sprintf("%.2f", each(r.Floor)), ""},
			{"Spillway: CPU ms a pod", "", fmt.Sprintf("%.2f", each(r.Ours)), ""},
			{"ratio", fmt.Sprintf("≤ %.1f", goalPodLife), fmt.Sprintf("%.2f", ratio), verdict(ratio <= goalPodLife)},
		}))
}
